//! The network interfaces of this host, as far as `/proc` and `/sys` tell.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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

/// All addresses of this host: those of the default route's interface first, IPv4 before IPv6, larger networks first.
pub fn all() -> Vec<Interface> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let up = |name: &str| {
        let flags = read(&format!("/sys/class/net/{name}/flags"));
        let flags = u32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).unwrap_or(0);
        flags & 1 == 1
    };
    parse(&read("/proc/net/route"), &read("/proc/net/fib_trie"), &read("/proc/net/if_inet6"), up)
}

/// A directly reachable network: interface, address, mask.
type Network<'a> = (&'a str, u32, u32);

fn parse(routes: &str, local: &str, inet6: &str, up: impl Fn(&str) -> bool) -> Vec<Interface> {
    let mut default = None;
    let mut networks: Vec<Network<'_>> = vec![("lo", 0x7f00_0000, 0xff00_0000)];
    for line in routes.lines().skip(1) {
        let mut words = line.split_whitespace();
        let (Some(name), Some(to), Some(gateway)) = (words.next(), words.next(), words.next()) else { continue };
        let Some(mask) = words.nth(4) else { continue };
        // Written as the machine holds them; these files are of little-endian machines.
        let number = |text: &str| u32::from_str_radix(text, 16).map(u32::swap_bytes).unwrap_or(0);
        match (number(to), number(gateway)) {
            (0, _) => default = default.or(Some(name)),
            (to, 0) => networks.push((name, to, number(mask))),
            _ => {}
        }
    }
    let mut out: Vec<Interface> = Vec::new();
    let mut add = |name: &str, ip: IpAddr, prefix: u8| {
        if !out.iter().any(|i| i.ip == ip && i.name == name) {
            out.push(Interface { name: name.into(), ip, prefix, up: up(name), default_route: default == Some(name) });
        }
    };
    let mut last: Option<Ipv4Addr> = None;
    for line in local.lines().map(str::trim) {
        if let Some(ip) = line.strip_prefix("|-- ") {
            last = ip.parse().ok();
        } else if line == "/32 host LOCAL" {
            let Some(ip) = last else { continue };
            let bits = u32::from(ip);
            let inside = networks.iter().filter(|(_, to, mask)| bits & mask == *to);
            if let Some((name, _, mask)) = inside.max_by_key(|(_, _, mask)| mask.count_ones()) {
                add(name, ip.into(), u8::try_from(mask.count_ones()).unwrap_or(32));
            }
        }
    }
    for line in inet6.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [ip, _, prefix, _, _, name] = words.as_slice() else { continue };
        let Ok(bits) = u128::from_str_radix(ip, 16) else { continue };
        add(name, Ipv6Addr::from(bits).into(), u8::from_str_radix(prefix, 16).unwrap_or(128));
    }
    out.sort_by_key(|i| (!i.default_route, i.ip.is_ipv6(), i.prefix));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &str = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
eth1 000AA8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0
eth0 00000000 0100000A 0003 0 0 0 00000000 0 0 0
eth0 0000000A 00000000 0001 0 0 0 0000FFFF 0 0 0
";
    const LOCAL: &str = "Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 10.0.3.7
        /32 host LOCAL
     |-- 10.0.255.255
        /32 link BROADCAST
     |-- 127.0.0.1
        /32 host LOCAL
     |-- 192.168.10.5
        /32 host LOCAL
Local:
     |-- 10.0.3.7
        /32 host LOCAL
";
    const INET6: &str = "fe800000000000000000000000000001 02 40 20 80     eth0
00000000000000000000000000000001 01 80 10 80       lo
";

    #[test]
    fn addresses_get_their_interfaces_and_order() {
        let all = parse(ROUTES, LOCAL, INET6, |name| name != "eth1");
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
