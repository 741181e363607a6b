//! Interfaces and addresses of the host, as reported by the kernel.

use std::net::IpAddr;
use std::path::Path;

use if_addrs::{IfAddr, get_if_addrs};

/// The flag of interfaces that are up.
const IFF_UP: u32 = 1;

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its hardware address, `aa:bb:…`; empty if it has none.
    pub mac: String,
    /// Whether it is up.
    pub up: bool,
    /// Its addresses, IPv4 first.
    pub addresses: Vec<Address>,
}

/// An address of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Length of its network's prefix.
    pub prefix: u8,
}

/// All interfaces, in the order of their numbers; none if the kernel does not report them.
pub fn interfaces() -> Vec<Interface> {
    // Interfaces without addresses are only listed in /sys.
    let listed = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let mut found: Vec<(u32, Interface)> = listed.filter_map(|entry| interface(&entry.path())).collect();
    for address in get_if_addrs().unwrap_or_default() {
        let (ip, prefix) = match &address.addr {
            IfAddr::V4(v4) => (v4.ip.into(), v4.prefixlen),
            IfAddr::V6(v6) => (v6.ip.into(), v6.prefixlen),
        };
        // A colon ends the name, and begins the label of the address.
        let name = address.name.split(':').next().unwrap_or_default();
        let address_of = Address { ip, prefix };
        match found.iter_mut().find(|(_, i)| i.name == name) {
            Some((_, interface)) => interface.addresses.push(address_of),
            // /sys may belong to another network namespace.
            None => {
                let interface = Interface { name: name.into(), addresses: vec![address_of], ..Interface::default() };
                found.push((address.index.unwrap_or(u32::MAX), interface));
            }
        }
    }
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, interface)| interface).collect()
}

/// The number and the properties of the interface of a directory of `/sys/class/net`.
fn interface(dir: &Path) -> Option<(u32, Interface)> {
    let read = |file: &str| std::fs::read_to_string(dir.join(file)).unwrap_or_default().trim().to_string();
    let mac = Some(read("address")).filter(|mac| mac.bytes().any(|b| !matches!(b, b'0' | b':')));
    let flags = u32::from_str_radix(read("flags").trim_start_matches("0x"), 16).unwrap_or(0);
    let interface = Interface {
        name: dir.file_name()?.to_str()?.to_string(),
        mac: mac.unwrap_or_default(),
        up: flags & IFF_UP != 0,
        addresses: Vec::new(),
    };
    Some((read("ifindex").parse().ok()?, interface))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_there() {
        let all = interfaces();
        let lo = all.iter().find(|i| i.name == "lo").unwrap();
        assert!(lo.addresses.contains(&Address { ip: [127, 0, 0, 1].into(), prefix: 8 }), "{all:?}");
        assert_eq!((lo.mac.as_str(), lo.up), ("", true));
    }
}
