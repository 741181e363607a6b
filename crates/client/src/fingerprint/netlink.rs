//! Interfaces and addresses of the host, as reported by the kernel (rtnetlink(7)).

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const RTM_GETADDR: u16 = 22;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Request, and all entries.
const FLAGS: u16 = 0x301;
/// Request, and an answer either way.
const ACKNOWLEDGED: u16 = 0x5;
/// The flag of interfaces that work.
const IFF_UP: u32 = 1;
/// The loopback's number in every network namespace.
const LOOPBACK: u32 = 1;
/// Attributes of links.
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
/// Attributes of addresses.
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its hardware address, `aa:bb:…`; empty if it has none.
    pub mac: String,
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

/// All interfaces, in the order of their numbers; none if the kernel does not tell.
pub fn interfaces() -> Vec<Interface> {
    let mut found: BTreeMap<u32, Interface> = BTreeMap::new();
    for message in dump(RTM_GETLINK, 16).unwrap_or_default() {
        let Some(index) = word(&message, 4) else { continue };
        let mut link = Interface::default();
        for (kind, value) in attributes(message.get(16..).unwrap_or_default()) {
            match kind {
                IFLA_IFNAME => link.name = String::from_utf8_lossy(value).trim_end_matches('\0').to_string(),
                IFLA_ADDRESS if value.iter().any(|b| *b != 0) => {
                    link.mac = value.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":");
                }
                _ => {}
            }
        }
        found.insert(index, link);
    }
    for message in dump(RTM_GETADDR, 8).unwrap_or_default() {
        let Some(link) = word(&message, 4).and_then(|index| found.get_mut(&index)) else { continue };
        let all: Vec<_> = attributes(message.get(8..).unwrap_or_default()).collect();
        // On a point-to-point link the other attribute is the peer's address.
        let own = all.iter().find(|(k, _)| *k == IFA_LOCAL).or_else(|| all.iter().find(|(k, _)| *k == IFA_ADDRESS));
        let prefix = message.get(1).copied().unwrap_or_default();
        link.addresses.extend(own.and_then(|(_, value)| ip(value)).map(|ip| Address { ip, prefix }));
    }
    found.into_values().filter(|i| !i.name.is_empty()).collect()
}

fn ip(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        16 => Some(IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?)),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// Type and value of the attributes behind a message's head.
fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(half(rest, 0)?);
        let kind = half(rest, 2)?;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Asks for all entries of a kind; the messages without their netlink heads.
fn dump(kind: u16, head: usize) -> rustix::io::Result<Vec<Vec<u8>>> {
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let length = u32::try_from(16 + head).unwrap_or(32);
    let mut request = Vec::new();
    request.extend(length.to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(FLAGS.to_ne_bytes());
    request.extend([0; 8]);
    request.resize(16 + head, 0);
    rustix::net::sendto(&socket, &request, SendFlags::empty(), &netlink::SocketAddrNetlink::new(0, 0))?;
    let mut out = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let (n, _) = rustix::net::recv(&socket, buffer.as_mut_slice(), RecvFlags::empty())?;
        let mut rest = buffer.get(..n).unwrap_or_default();
        while let (Some(length), Some(kind)) = (word(rest, 0), half(rest, 4)) {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            if matches!(kind, NLMSG_DONE | NLMSG_ERROR) {
                return Ok(out);
            }
            let Some(body) = rest.get(16..length) else { return Ok(out) };
            out.push(body.to_vec());
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        if n == 0 {
            return Ok(out);
        }
    }
}

/// Has the loopback of this network namespace work.
pub(crate) fn set_loopback_up() -> std::io::Result<()> {
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut request = Vec::new();
    request.extend(32_u32.to_ne_bytes());
    request.extend(RTM_NEWLINK.to_ne_bytes());
    request.extend(ACKNOWLEDGED.to_ne_bytes());
    // Sequence, port; then family and type of the link, which are of no account.
    request.extend([0; 8 + 4]);
    for word in [LOOPBACK, IFF_UP, IFF_UP] {
        request.extend(word.to_ne_bytes());
    }
    rustix::net::sendto(&socket, &request, SendFlags::empty(), &netlink::SocketAddrNetlink::new(0, 0))?;
    let mut buffer = vec![0; 4096];
    let (n, _) = rustix::net::recv(&socket, buffer.as_mut_slice(), RecvFlags::empty())?;
    // An answer holds the negative number of an error, 0 for none.
    match buffer.get(..n).and_then(|answer| word(answer, 16)) {
        Some(0) => Ok(()),
        Some(error) => Err(std::io::Error::from_raw_os_error(error.cast_signed().wrapping_neg())),
        None => Err(std::io::Error::other("the kernel's answer is cut off")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_there() {
        let all = interfaces();
        let lo = all.iter().find(|i| i.name == "lo").unwrap();
        assert!(lo.addresses.contains(&Address { ip: [127, 0, 0, 1].into(), prefix: 8 }), "{all:?}");
    }

    #[test]
    fn cut_messages_end_the_reading() {
        assert_eq!(attributes(&[8, 0, 1, 0, 1, 2, 3, 4, 9, 0, 2, 0]).count(), 1);
        assert_eq!(attributes(&[2, 0, 1, 0]).count(), 0);
    }
}
