//! The members of the test and their addresses, which exist in their network namespaces alone.

use std::fmt;
use std::net::Ipv4Addr;

/// How many servers the cluster has.
pub(crate) const SERVERS: u8 = 5;
/// How many nodes the cluster has.
pub(crate) const NODES: u8 = 20;
/// The network of all members.
const NETWORK: [u8; 2] = [10, 231];
/// Bits of the network's prefix.
pub(crate) const PREFIX: u8 = 16;

/// A member with a network of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A server, from 0.
    Server(u8),
    /// A node, from 0.
    Node(u8),
    /// All clients.
    Clients,
}

impl Place {
    /// All members.
    pub(crate) fn all() -> Vec<Place> {
        let servers = (0..SERVERS).map(Place::Server);
        servers.chain((0..NODES).map(Place::Node)).chain([Place::Clients]).collect()
    }

    /// The member's address.
    pub(crate) fn address(self) -> Ipv4Addr {
        let [a, b] = NETWORK;
        match self {
            Place::Server(number) => Ipv4Addr::new(a, b, 1, number + 1),
            Place::Node(number) => Ipv4Addr::new(a, b, 2, number + 1),
            Place::Clients => Ipv4Addr::new(a, b, 3, 1),
        }
    }

    /// Who has an address.
    pub(crate) fn of(address: Ipv4Addr) -> Option<Place> {
        let octets = address.octets();
        if octets[..2] != NETWORK {
            return None;
        }
        match (octets[2], octets[3]) {
            (1, number @ 1..=SERVERS) => Some(Place::Server(number - 1)),
            (2, number @ 1..=NODES) => Some(Place::Node(number - 1)),
            (3, 1) => Some(Place::Clients),
            _ => None,
        }
    }

    /// The name of the member's network namespace.
    pub(crate) fn namespace(self) -> String {
        format!("nemesis-{self}")
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Server(number) => write!(f, "s{}", number + 1),
            Place::Node(number) => write!(f, "n{}", number + 1),
            Place::Clients => f.write_str("clients"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_their_members() {
        for place in Place::all() {
            assert_eq!(Place::of(place.address()), Some(place));
        }
        assert_eq!(Place::of(Ipv4Addr::new(10, 231, 1, SERVERS + 1)), None);
        assert_eq!(Place::of(Ipv4Addr::new(10, 230, 1, 1)), None);
        assert_eq!(Place::of(Ipv4Addr::new(10, 231, 1, 0)), None);
    }
}
