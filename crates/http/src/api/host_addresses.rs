//! Addresses of this host in all the notations that `agent/host` reports (recorded: `agent/host`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

use encamp_client::fingerprint::interfaces::interfaces;

/// Every address of every interface.
pub(crate) fn all() -> Vec<Value> {
    let addresses = interfaces().into_iter().flat_map(|i| i.addresses);
    addresses.map(|a| shown(a.ip, u32::from(a.prefix))).collect()
}

fn shown(ip: IpAddr, prefix: u32) -> Value {
    match ip {
        IpAddr::V4(ip) => v4(ip, prefix.min(32)),
        IpAddr::V6(ip) => v6(ip, prefix.min(128)),
    }
}

fn octets(bytes: &[u8]) -> String {
    bytes.iter().map(u8::to_string).collect::<Vec<_>>().join(" ")
}

fn v4(ip: Ipv4Addr, prefix: u32) -> Value {
    let bits = u32::from(ip);
    let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
    let (first, last) = (bits & mask, bits | !mask);
    // Networks of two addresses and of one use all of them.
    let edge = u32::from(prefix < 31);
    let text = |bits: u32| Ipv4Addr::from(bits).to_string();
    let whole = prefix == 32;
    let listen = |kind: &str| if whole { format!("\"{kind}\" \"{ip}:0\"") } else { format!("\"{kind}\" \"\"") };
    json!({
        "DialPacket": "\"udp4\" \"\"",
        "DialStream": "\"tcp4\" \"\"",
        "ListenPacket": listen("udp4"),
        "ListenStream": listen("tcp4"),
        "address": text(bits),
        "binary": format!("{bits:032b}"),
        "broadcast": text(last),
        "first_usable": text(first + edge),
        "hex": format!("{bits:08x}"),
        "host": text(bits),
        "last_usable": text(last - edge),
        "mask_bits": prefix.to_string(),
        "netmask": text(mask),
        "network": text(first),
        "octets": octets(&ip.octets()),
        "port": "0",
        "size": (1_u64 << (32 - prefix)).to_string(),
        "string": if whole { text(bits) } else { format!("{ip}/{prefix}") },
        "type": "IPv4",
        "uint32": bits.to_string(),
    })
}

fn v6(ip: Ipv6Addr, prefix: u32) -> Value {
    let bits = u128::from(ip);
    let mask = u128::MAX.checked_shl(128 - prefix).unwrap_or(0);
    let (first, last) = (bits & mask, bits | !mask);
    let text = |bits: u128| Ipv6Addr::from(bits).to_string();
    let whole = prefix == 128;
    let listen = |kind: &str| if whole { format!("\"{kind}\" \"[{ip}]:0\"") } else { format!("\"{kind}\" \"\"") };
    // The whole of IPv6 is one more than the type holds.
    let size = 1_u128.checked_shl(128 - prefix).map_or_else(|| format!("{}6", u128::MAX / 10), |n| n.to_string());
    json!({
        "DialPacket": "\"udp6\" \"\"",
        "DialStream": "\"tcp6\" \"\"",
        "ListenPacket": listen("udp6"),
        "ListenStream": listen("tcp6"),
        "address": text(bits),
        "binary": format!("{bits:0128b}"),
        "first_usable": text(first),
        "hex": format!("{bits:032x}"),
        "host": text(bits),
        "last_usable": text(last),
        "mask_bits": prefix.to_string(),
        "netmask": text(mask),
        "network": text(first),
        "octets": octets(&ip.octets()),
        "port": "0",
        "size": size,
        "string": if whole { text(bits) } else { format!("{ip}/{prefix}") },
        "type": "IPv6",
        "uint128": bits.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_as_recorded() {
        let lo = shown(Ipv4Addr::LOCALHOST.into(), 8);
        let want = json!({
            "DialPacket": "\"udp4\" \"\"", "DialStream": "\"tcp4\" \"\"", "ListenPacket": "\"udp4\" \"\"",
            "ListenStream": "\"tcp4\" \"\"", "address": "127.0.0.1", "binary": "01111111000000000000000000000001",
            "broadcast": "127.255.255.255", "first_usable": "127.0.0.1", "hex": "7f000001", "host": "127.0.0.1",
            "last_usable": "127.255.255.254", "mask_bits": "8", "netmask": "255.0.0.0", "network": "127.0.0.0",
            "octets": "127 0 0 1", "port": "0", "size": "16777216", "string": "127.0.0.1/8", "type": "IPv4",
            "uint32": "2130706433",
        });
        assert_eq!(lo, want);
        let lo = shown(Ipv6Addr::LOCALHOST.into(), 128);
        assert_eq!((&lo["ListenPacket"], &lo["string"]), (&json!("\"udp6\" \"[::1]:0\""), &json!("::1")));
        assert_eq!((&lo["uint128"], &lo["octets"]), (&json!("1"), &json!("0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1")));
        assert_eq!(lo["netmask"], "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    }

    #[test]
    fn the_smallest_and_the_largest_networks() {
        let one = shown(Ipv4Addr::new(10, 0, 0, 1).into(), 32);
        assert_eq!(
            (&one["first_usable"], &one["last_usable"], &one["size"]),
            (&json!("10.0.0.1"), &json!("10.0.0.1"), &json!("1"))
        );
        let all = shown(Ipv4Addr::new(10, 0, 0, 1).into(), 0);
        assert_eq!((&all["netmask"], &all["size"]), (&json!("0.0.0.0"), &json!("4294967296")));
        let all = shown(Ipv6Addr::LOCALHOST.into(), 0);
        assert_eq!((&all["size"], &all["netmask"]), (&json!("340282366920938463463374607431768211456"), &json!("::")));
    }
}
