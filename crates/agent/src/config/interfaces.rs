//! The addresses of this host, in the order in which configuration templates choose them.

use std::net::IpAddr;

use encamp_client::fingerprint::interfaces;

/// An address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Name of the interface.
    pub name: String,
    /// The address.
    pub ip: IpAddr,
    /// Length of its network's prefix.
    pub prefix: u8,
    /// Whether the interface is up.
    pub up: bool,
    /// Whether the default route leaves through it.
    pub default_route: bool,
}

impl Interface {
    /// Whether packets with that address may leave the host.
    pub fn forwardable(&self) -> bool {
        match self.ip {
            IpAddr::V4(ip) => !(ip.is_loopback() || ip.is_link_local() || ip.is_multicast() || ip.is_unspecified()),
            IpAddr::V6(ip) => !(ip.is_loopback() || ip.is_unicast_link_local() || ip.is_multicast()),
        }
    }

    /// Whether the address is set aside by RFC 6890 for networks that are not public.
    pub fn private(&self) -> bool {
        match self.ip {
            IpAddr::V4(ip) => {
                let [a, b, c, _] = ip.octets();
                ip.is_private()
                    || ip.is_documentation()
                    || (a == 100 && (64..128).contains(&b))
                    || (a == 198 && (18..20).contains(&b))
                    || (a == 192 && b == 0 && c == 0)
            }
            IpAddr::V6(ip) => ip.is_unique_local() || ip.segments().starts_with(&[0x2001, 0xdb8]),
        }
    }
}

/// All addresses of this host: those of the default route's interface first, IPv4 before IPv6, larger networks first,
/// then by address.
pub fn all() -> Vec<Interface> {
    let routes = procfs::net::route().unwrap_or_default();
    let default = routes.into_iter().find(|r| r.destination.is_unspecified()).map(|r| r.iface);
    ordered(interfaces::interfaces(), default.as_deref())
}

fn ordered(interfaces: Vec<interfaces::Interface>, default: Option<&str>) -> Vec<Interface> {
    let mut out: Vec<Interface> = Vec::new();
    for interface in interfaces {
        out.extend(interface.addresses.iter().map(|address| Interface {
            name: interface.name.clone(),
            ip: address.ip,
            prefix: address.prefix,
            up: interface.up,
            default_route: default == Some(interface.name.as_str()),
        }));
    }
    out.sort_by_key(|i| (!i.default_route, i.ip.is_ipv6(), i.prefix, i.ip));
    out
}

#[cfg(test)]
mod tests {
    use encamp_client::fingerprint::interfaces::Address;

    use super::*;

    #[test]
    fn addresses_are_ordered_by_route_family_and_size() {
        let interface = |name: &str, up: bool, addresses: &[(&str, u8)]| interfaces::Interface {
            name: name.into(),
            up,
            addresses: addresses.iter().map(|(ip, n)| Address { ip: ip.parse().expect("an IP"), prefix: *n }).collect(),
            ..Default::default()
        };
        let all = vec![
            interface("lo", true, &[("127.0.0.1", 8), ("::1", 128)]),
            interface("eth1", false, &[("192.168.10.5", 24)]),
            interface("eth0", true, &[("fe80::1", 64), ("10.0.3.7", 16)]),
        ];
        let all = ordered(all, Some("eth0"));
        let shown: Vec<String> =
            all.iter().map(|i| format!("{} {}/{} {} {}", i.name, i.ip, i.prefix, i.up, i.default_route)).collect();
        assert_eq!(
            shown,
            [
                "eth0 10.0.3.7/16 true true",
                "eth0 fe80::1/64 true true",
                "lo 127.0.0.1/8 true false",
                "eth1 192.168.10.5/24 false false",
                "lo ::1/128 true false",
            ]
        );
        let kinds: Vec<(bool, bool)> = all.iter().map(|i| (i.forwardable(), i.private())).collect();
        assert_eq!(kinds, [(true, true), (false, false), (false, false), (true, true), (false, false)]);
    }
}
