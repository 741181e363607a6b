//! Addresses: `cidrhost cidrnetmask cidrsubnet cidrsubnets`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dashu_int::IBig;

use super::FunctionContext;
use super::support::{Args, Failure, Function, Kind, function, p, variadic};
use crate::types::Type;
use crate::value::Value;

pub(crate) const FUNCTIONS: &[Function] = &[
    function("cidrhost", &[p("prefix", Kind::String), p("hostnum", Kind::Number)], cidrhost),
    function("cidrnetmask", &[p("prefix", Kind::String)], |args, _| {
        let network = Network::first(args)?;
        Ok(Value::from(network.show(network.mask()).as_str()))
    }),
    function(
        "cidrsubnet",
        &[p("prefix", Kind::String), p("newbits", Kind::Number), p("netnum", Kind::Number)],
        cidrsubnet,
    ),
    variadic("cidrsubnets", &[p("prefix", Kind::String)], p("newbits", Kind::Number), cidrsubnets),
];

/// A network: its first address and the length of its prefix.
#[derive(Clone, Copy)]
struct Network {
    first: u128,
    prefix: u32,
    v6: bool,
}

impl Network {
    /// The first argument of a call, or what is wrong with it.
    fn first(args: &Args) -> Result<Network, Failure> {
        let text = args.text(0)?;
        let refused = || format!("invalid CIDR expression: invalid CIDR address: {text}");
        Ok(Network::parse(text).ok_or_else(refused)?)
    }

    fn parse(text: &str) -> Option<Network> {
        let (address, prefix) = text.split_once('/')?;
        let (address, v6) = match address.parse().ok()? {
            IpAddr::V4(address) => (u128::from(address.to_bits()), false),
            IpAddr::V6(address) => (address.to_bits(), true),
        };
        let digits = !prefix.is_empty() && prefix.len() <= 3 && prefix.bytes().all(|byte| byte.is_ascii_digit());
        let prefix = digits.then(|| prefix.parse().ok()).flatten()?;
        let network = Network { first: address, prefix, v6 };
        (prefix <= network.bits()).then(|| Network { first: address & network.mask(), ..network })
    }

    /// Bits of an address.
    fn bits(self) -> u32 {
        if self.v6 { 128 } else { 32 }
    }

    /// The mask of a prefix of this network's kind of address.
    fn mask(self) -> u128 {
        !self.host_mask() & low_bits(self.bits())
    }

    fn host_mask(self) -> u128 {
        low_bits(self.bits() - self.prefix)
    }

    /// A part of this network. A mapped IPv4 address is shown as such, with the part of the prefix that lies in it.
    fn show_subnet(self, first: u128, prefix: u32) -> String {
        let mapped = self.v6 && Ipv6Addr::from_bits(first).to_ipv4_mapped().is_some();
        let prefix = if mapped { prefix.saturating_sub(MAPPED_BITS) } else { prefix };
        format!("{}/{prefix}", self.show(first))
    }

    fn show(self, address: u128) -> String {
        match u32::try_from(address).ok().filter(|_| !self.v6) {
            Some(address) => Ipv4Addr::from_bits(address).to_string(),
            None => {
                let address = Ipv6Addr::from_bits(address);
                address.to_ipv4_mapped().map_or_else(|| address.to_string(), |mapped| mapped.to_string())
            }
        }
    }
}

/// Bits in front of an IPv4 address that is written as an IPv6 address.
const MAPPED_BITS: u32 = 96;

fn low_bits(count: u32) -> u128 {
    1u128.checked_shl(count).map_or(u128::MAX, |bit| bit - 1)
}

fn cidrhost(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let network = Network::first(args)?;
    let number = args.integer(1)?;
    let last = IBig::from(network.host_mask());
    let from_start = if number < IBig::ZERO { &last + &number + 1 } else { number.clone() };
    let host = u128::try_from(&from_start).ok().filter(|_| from_start <= last);
    let host =
        host.ok_or_else(|| format!("prefix of {} does not accommodate a host numbered {number}", network.prefix))?;
    Ok(Value::from(network.show(network.first | host).as_str()))
}

fn cidrsubnet(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let network = Network::first(args)?;
    let (more, number) = (args.int(1, i64::MIN, i64::MAX)?, args.integer(2)?);
    // A negative number of bits shortens the prefix; it has no part of its own for the number to fit into.
    let prefix = i64::from(network.prefix).checked_add(more).and_then(|prefix| u32::try_from(prefix).ok());
    let Some(prefix) = prefix.filter(|prefix| *prefix <= network.bits()) else {
        return Err(format!("insufficient address space to extend prefix of {} by {more}", network.prefix).into());
    };
    let highest = u32::try_from(more).map_or(u128::from(u64::MAX), low_bits);
    let number = u128::try_from(&number)
        .ok()
        .filter(|number| *number <= highest)
        .ok_or_else(|| format!("prefix extension of {more} does not accommodate a subnet numbered {number}"))?;
    let shifted = number.checked_shl(network.bits() - prefix).unwrap_or(0) & low_bits(network.bits());
    Ok(Value::from(network.show_subnet(network.first | shifted, prefix).as_str()))
}

fn cidrsubnets(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let network = Network::first(args).map_err(|failure| failure.of_argument(0))?;
    let kind = if network.v6 { "IPv6" } else { "IPv4" };
    let last = network.first | network.host_mask();
    let mut subnets: Vec<Value> = Vec::new();
    // The last allocated address; `None` at first.
    let mut used: Option<u128> = None;
    for index in 1..args.all().len() {
        let more = args.int(index, i64::MIN, i64::MAX)?;
        let refused = |text: String| Err(Failure::Argument(index, text));
        let Some(more) = u32::try_from(more).ok().filter(|more| *more >= 1) else {
            return refused("must extend prefix by at least one bit".to_string());
        };
        if more > 32 {
            return refused("may not extend prefix by more than 32 bits".to_string());
        }
        let prefix = network.prefix + more;
        if prefix > network.bits() {
            return refused(format!("would extend prefix to {prefix} bits, which is too long for an {kind} address"));
        }
        let subnet = Network { prefix, ..network };
        let first = match used {
            None => Some(network.first),
            Some(used) => (used | subnet.host_mask()).checked_add(1),
        };
        let Some(first) = first.filter(|first| *first <= last) else {
            let after = subnets.last().and_then(Value::as_str).unwrap_or_default();
            let text = "not enough remaining address space for a subnet with a prefix of";
            return refused(format!("{text} {prefix} bits after {after}"));
        };
        used = Some(first | subnet.host_mask());
        subnets.push(Value::from(network.show_subnet(first, prefix).as_str()));
    }
    Ok(Value::list(Type::String, subnets)?)
}

#[cfg(test)]
mod tests {
    use super::super::support::check_json;

    #[test]
    fn results() {
        for (name, arguments, expected) in [
            ("cidrhost", r#""10.12.0.0/20", 268"#, "10.12.1.12"),
            ("cidrhost", r#""10.12.0.0/20", -2"#, "10.12.15.254"),
            ("cidrhost", r#""10.12.3.4/8", 5"#, "10.0.0.5"),
            ("cidrhost", r#""fd00:fd12:3456:7890::/56", 34"#, "fd00:fd12:3456:7800::22"),
            (
                "cidrhost",
                r#""::/0", 340282366920938463463374607431768211455"#,
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
            ),
            ("cidrnetmask", r#""172.16.0.0/12""#, "255.240.0.0"),
            ("cidrnetmask", r#""0.0.0.0/0""#, "0.0.0.0"),
            ("cidrsubnet", r#""10.0.0.0/8", 8, 2"#, "10.2.0.0/16"),
            ("cidrsubnet", r#""fd00:fd12::/32", 16, 162"#, "fd00:fd12:a2::/48"),
            ("cidrsubnet", r#""10.0.0.0/32", 0, 0"#, "10.0.0.0/32"),
            ("cidrsubnet", r#""::/0", 128, 1"#, "::1/128"),
            ("cidrsubnet", r#""10.0.0.0/8", -1, 0"#, "10.0.0.0/7"),
            ("cidrsubnet", r#""::ffff:10.0.0.0/104", 8, 1"#, "10.1.0.0/16"),
        ] {
            check_json(name, arguments, &format!("\"{expected}\""));
        }
        for (arguments, expected) in [
            (r#""10.1.0.0/16", 4, 4, 8, 4"#, r#"["10.1.0.0/20","10.1.16.0/20","10.1.32.0/24","10.1.48.0/20"]"#),
            (r#""::/0", 1, 1"#, r#"["::/1","8000::/1"]"#),
            (r#""10.0.0.0/8""#, "[]"),
        ] {
            check_json("cidrsubnets", arguments, expected);
        }
    }

    #[test]
    fn refusals() {
        for (name, arguments, expected) in [
            ("cidrhost", r#""10.0.0.0/24", 256"#, "prefix of 24 does not accommodate a host numbered 256"),
            ("cidrhost", r#""10.0.0.0/24", -257"#, "prefix of 24 does not accommodate a host numbered -257"),
            ("cidrsubnet", r#""10.0.0.0/24", 9, 0"#, "insufficient address space to extend prefix of 24 by 9"),
            ("cidrsubnet", r#""10.0.0.0/8", -9, 0"#, "insufficient address space to extend prefix of 8 by -9"),
            (
                "cidrsubnet",
                r#""10.0.0.0/24", 4, 16"#,
                "prefix extension of 4 does not accommodate a subnet numbered 16",
            ),
            (
                "cidrsubnet",
                r#""10.0.0.0/24", 4, -1"#,
                "prefix extension of 4 does not accommodate a subnet numbered -1",
            ),
        ] {
            check_json(name, arguments, &format!("Call to function \"{name}\" failed: {expected}."));
        }
        for prefix in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/+8", "010.0.0.0/8", "x/8", "::/129"] {
            let text = format!("invalid CIDR expression: invalid CIDR address: {prefix}");
            check_json(
                "cidrnetmask",
                &format!("{prefix:?}"),
                &format!("Call to function \"cidrnetmask\" failed: {text}."),
            );
            check_json(
                "cidrsubnets",
                &format!("{prefix:?}"),
                &format!("Invalid value for \"prefix\" parameter: {text}."),
            );
        }
        for (arguments, expected) in [
            (r#""10.0.0.0/24", 0"#, "must extend prefix by at least one bit"),
            (r#""fd00::/24", 33"#, "may not extend prefix by more than 32 bits"),
            (r#""10.0.0.0/24", 9"#, "would extend prefix to 33 bits, which is too long for an IPv4 address"),
            (
                r#""10.0.0.0/24", 1, 1, 4"#,
                "not enough remaining address space for a subnet with a prefix of 28 bits after 10.0.0.128/25",
            ),
        ] {
            check_json("cidrsubnets", arguments, &format!("Invalid value for \"newbits\" parameter: {expected}."));
        }
    }
}
