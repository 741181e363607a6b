//! Fingerprints the networks of a node (`docs/spec/client.md §4.4`).

use std::net::IpAddr;

use procfs::net::RouteEntry;

use super::interfaces::{self, Address, Interface};
use crate::config::Config;
use encamp_model::{ClientHostNetworkConfig, NetworkResource, NodeNetworkAddress, NodeNetworkResource};

/// MBit/s of an interface that does not tell.
const DEFAULT_SPEED: i64 = 1000;

/// The detected networks.
#[derive(Debug, Default, PartialEq)]
pub struct Networks {
    /// The chosen interface, one entry per address.
    pub networks: Vec<NetworkResource>,
    /// All interfaces.
    pub node_networks: Vec<NodeNetworkResource>,
}

/// Looks at the interfaces.
pub fn look(config: &Config) -> Networks {
    let all = interfaces::interfaces();
    let chosen = match config.network_interface.as_str() {
        "" => default_interface(procfs::net::route().unwrap_or_default()),
        name => Some(name.to_string()),
    };
    networks(config, &all, chosen.as_deref(), &speed)
}

/// The interface of the default route.
fn default_interface(routes: Vec<RouteEntry>) -> Option<String> {
    let default = routes.into_iter().filter(|r| r.destination.is_unspecified());
    default.map(|r| (r.metrics, r.iface)).min().map(|(_, name)| name)
}

/// MBit/s as the kernel has it.
fn speed(name: &str) -> i64 {
    let text = std::fs::read_to_string(format!("/sys/class/net/{name}/speed")).unwrap_or_default();
    text.trim().parse().ok().filter(|s| *s > 0).unwrap_or(DEFAULT_SPEED)
}

fn networks(config: &Config, all: &[Interface], chosen: Option<&str>, speed: &dyn Fn(&str) -> i64) -> Networks {
    let mbits = |name: &str| if config.network_speed > 0 { config.network_speed } else { speed(name) };
    let mut out = Networks::default();
    for interface in all {
        let is_chosen = chosen == Some(interface.name.as_str());
        let address = |ip: &IpAddr| {
            let host = config.host_networks.values().find(|n| covers(n, ip, &interface.name));
            let alias = host.map(|n| n.name.clone()).or(is_chosen.then(|| "default".into()));
            NodeNetworkAddress {
                family: if ip.is_ipv4() { "ipv4" } else { "ipv6" }.into(),
                alias: alias.unwrap_or_default(),
                address: ip.to_string(),
                reserved_ports: host.map(|n| n.reserved_ports.clone()).unwrap_or_default(),
                gateway: String::new(),
            }
        };
        out.node_networks.push(NodeNetworkResource {
            mode: "host".into(),
            device: interface.name.clone(),
            mac_address: interface.mac.clone(),
            speed: mbits(&interface.name),
            addresses: interface.addresses.iter().map(|a| address(&a.ip)).collect(),
        });
        if is_chosen {
            let network = |ip: IpAddr| NetworkResource {
                mode: "host".into(),
                device: interface.name.clone(),
                cidr: format!("{ip}/{}", if ip.is_ipv4() { 32 } else { 128 }),
                ip: ip.to_string(),
                mbits: mbits(&interface.name),
                ..NetworkResource::default()
            };
            out.networks = offered(config, &interface.addresses).into_iter().map(network).collect();
        }
    }
    out
}

/// Addresses to offer: link-local ones only when there is nothing else, the preferred family first.
fn offered(config: &Config, addresses: &[Address]) -> Vec<IpAddr> {
    let (local, mut global): (Vec<IpAddr>, Vec<IpAddr>) = addresses.iter().map(|a| a.ip).partition(is_link_local);
    let disallowed = config.options.get("fingerprint.network.disallow_link_local").is_some_and(|v| v == "true");
    if global.is_empty() && !disallowed {
        global = local;
    }
    match config.preferred_address_family.as_str() {
        "ipv4" => global.sort_by_key(|ip| !ip.is_ipv4()),
        "ipv6" => global.sort_by_key(|ip| !ip.is_ipv6()),
        _ => {}
    }
    global
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// Whether an address belongs to a host network.
fn covers(network: &ClientHostNetworkConfig, ip: &IpAddr, interface: &str) -> bool {
    let named = network.interface.is_empty() || network.interface == interface;
    let inside = network.cidr.is_empty() || network.cidr.split(',').any(|c| in_cidr(c.trim(), ip));
    named && inside && !(network.cidr.is_empty() && network.interface.is_empty())
}

fn in_cidr(cidr: &str, ip: &IpAddr) -> bool {
    let Some((base, bits)) = cidr.split_once('/') else { return false };
    let (Ok(base), Ok(bits)) = (base.parse::<IpAddr>(), bits.parse::<u32>()) else { return false };
    match (base, ip) {
        (IpAddr::V4(a), IpAddr::V4(b)) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            a.to_bits() & mask == b.to_bits() & mask
        }
        (IpAddr::V6(a), IpAddr::V6(b)) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            a.to_bits() & mask == b.to_bits() & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use procfs::FromBufRead;
    use procfs::net::RouteEntries;

    use super::*;

    fn interfaces() -> Vec<Interface> {
        let make = |name: &str, ips: &[&str]| Interface {
            name: name.into(),
            addresses: ips.iter().map(|ip| Address { ip: ip.parse().unwrap(), prefix: 24 }).collect(),
            ..Interface::default()
        };
        vec![make("lo", &["127.0.0.1"]), make("eth0", &["10.1.2.3", "fe80::1", "2001:db8::1"])]
    }

    #[test]
    fn addresses_and_aliases() {
        let private = ClientHostNetworkConfig {
            name: "private".into(),
            cidr: "192.168.0.0/16, 10.0.0.0/8".into(),
            reserved_ports: "22".into(),
            ..ClientHostNetworkConfig::default()
        };
        let config = Config {
            preferred_address_family: "ipv6".into(),
            host_networks: [("private".to_string(), private)].into(),
            ..Config::default()
        };
        let got = networks(&config, &interfaces(), Some("eth0"), &|_| 10_000);
        let cidrs: Vec<_> = got.networks.iter().map(|n| n.cidr.as_str()).collect();
        assert_eq!((cidrs, got.networks[0].mbits), (vec!["2001:db8::1/128", "10.1.2.3/32"], 10_000));
        let aliases: Vec<_> = got.node_networks[1].addresses.iter().map(|a| a.alias.as_str()).collect();
        assert_eq!(aliases, ["private", "default", "default"]);
        assert_eq!(got.node_networks[0].addresses[0].alias, "");
        assert_eq!(networks(&config, &interfaces(), None, &|_| 1).networks, []);
    }

    #[test]
    fn link_local_addresses_are_the_last_resort() {
        let ips = [Address { ip: "fe80::1".parse().unwrap(), prefix: 64 }];
        let mut config = Config::default();
        assert_eq!(offered(&config, &ips).len(), 1);
        config.options.insert("fingerprint.network.disallow_link_local".into(), "true".into());
        assert_eq!(offered(&config, &ips).len(), 0);
    }

    #[test]
    fn routes_and_prefixes() {
        let routes = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n\
                      eth1 00000000 0102000A 0003 0 0 100 00000000 0 0 0\n\
                      eth0 00000000 0102000A 0003 0 0 50 00000000 0 0 0\n\
                      lo 0000007F 00000000 0001 0 0 0 000000FF 0 0 0\n";
        let routes = RouteEntries::from_buf_read(routes.as_bytes()).unwrap().0;
        assert_eq!(default_interface(routes).as_deref(), Some("eth0"));
        let inside = |cidr: &str, ip: &str| in_cidr(cidr, &ip.parse().unwrap());
        assert!(
            inside("10.0.0.0/8", "10.9.9.9") && !inside("10.0.0.0/8", "11.0.0.1") && inside("0.0.0.0/0", "1.2.3.4")
        );
        assert!(inside("fd00::/8", "fd12::1") && !inside("10.0.0.0/8", "::1") && !inside("x/8", "::1"));
    }
}
