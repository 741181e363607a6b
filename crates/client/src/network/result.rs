//! What a network plugin prints of a namespace that it attached (`docs/spec/client.md §15.3`).

use std::net::IpAddr;

use serde::Deserialize;
use serde_json::Value;

use encamp_model::{AllocNetworkStatus, DnsConfig};

/// The maximum number of bytes of a text that becomes part of the allocation.
const LONGEST: usize = 255;
/// The maximum number of entries of a list that becomes part of the allocation.
const MOST: usize = 64;

/// A result can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResultError {
    /// It has another form.
    #[error("the result of the network plugins is invalid: {0}")]
    Form(String),
    /// An address is none.
    #[error("the result of the network plugins has an invalid address: {0:?}")]
    Address(String),
    /// A text or a list is too long for the allocation.
    #[error("the result of the network plugins has {0} that are too long or too many")]
    TooLong(&'static str),
    /// It has no address.
    #[error("the network plugins gave no address to any interface")]
    NoAddress,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Attached {
    interfaces: Option<Vec<Interface>>,
    ips: Option<Vec<Ip>>,
    /// Versions before 0.3.0 of the specification have one address of each family.
    ip4: Option<OldIp>,
    ip6: Option<OldIp>,
    dns: Option<Dns>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Interface {
    name: String,
    sandbox: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Ip {
    address: String,
    interface: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OldIp {
    ip: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Dns {
    nameservers: Option<Vec<String>>,
    domain: Option<String>,
    search: Option<Vec<String>>,
    options: Option<Vec<String>>,
}

/// The addresses of an allocation by the last plugin's result: those of the first interface in the namespace that has
/// one. `interface`: the name that plugins were asked to use. The DNS settings are those of the result, if it has any.
pub(crate) fn status(result: &Value, interface: &str) -> Result<AllocNetworkStatus, ResultError> {
    let attached: Attached = serde_json::from_value(result.clone()).map_err(|e| ResultError::Form(e.to_string()))?;
    let interfaces = attached.interfaces.unwrap_or_default();
    let ips = attached.ips.unwrap_or_default();
    let index = |ip: &Ip| ip.interface.and_then(|i| usize::try_from(i).ok());
    let inside = |i: &Interface| i.sandbox.as_ref().is_some_and(|s| !s.is_empty());
    let of = |number: usize| ips.iter().filter(move |ip| index(ip) == Some(number)).collect::<Vec<_>>();
    let chosen = interfaces.iter().enumerate().find(|(n, i)| inside(i) && !of(*n).is_empty());
    let (name, addresses) = match chosen {
        Some((number, i)) => (i.name.as_str(), of(number)),
        None => (interface, ips.iter().filter(|ip| index(ip).is_none()).collect()),
    };
    if name.len() > LONGEST || name.chars().any(char::is_control) {
        return Err(ResultError::TooLong("interfaces"));
    }
    let mut status = AllocNetworkStatus { interface_name: name.into(), ..AllocNetworkStatus::default() };
    let old = [attached.ip4, attached.ip6].into_iter().flatten().map(|ip| ip.ip).collect::<Vec<_>>();
    for text in addresses.iter().map(|ip| ip.address.as_str()).chain(old.iter().map(String::as_str)) {
        let ip = text.split('/').next().unwrap_or_default().parse::<IpAddr>();
        let ip = ip.map_err(|_| ResultError::Address(text.chars().take(LONGEST).collect()))?;
        let place = if ip.is_ipv4() { &mut status.address } else { &mut status.address_ipv6 };
        if place.is_empty() {
            *place = ip.to_string();
        }
    }
    if status.address.is_empty() && status.address_ipv6.is_empty() {
        return Err(ResultError::NoAddress);
    }
    status.dns = attached.dns.map(dns).transpose()?.flatten();
    Ok(status)
}

/// DNS settings, if there are any.
fn dns(found: Dns) -> Result<Option<DnsConfig>, ResultError> {
    let domain = found.domain.filter(|d| !d.is_empty());
    let mut searches = found.search.unwrap_or_default();
    searches.extend(domain.filter(|d| !searches.contains(d)));
    let dns = DnsConfig {
        servers: found.nameservers.unwrap_or_default(),
        searches,
        options: found.options.unwrap_or_default(),
    };
    let lists = [&dns.servers, &dns.searches, &dns.options];
    let bad = |text: &String| text.len() > LONGEST || text.chars().any(|c| c.is_control() || c.is_whitespace());
    if lists.iter().any(|l| l.len() > MOST || l.iter().any(bad)) {
        return Err(ResultError::TooLong("DNS settings"));
    }
    Ok(Some(dns).filter(|d| !(d.servers.is_empty() && d.searches.is_empty() && d.options.is_empty())))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_interface_of_the_namespace_that_has_an_address_counts() {
        let result = json!({
            "cniVersion": "0.4.0",
            "interfaces": [{"name": "nomad", "mac": "x"}, {"name": "veth1"}, {"name": "eth1", "sandbox": "/n"}, {"name": "eth0", "sandbox": "/n"}],
            "ips": [
                {"version": "4", "interface": 3, "address": "172.26.64.2/20", "gateway": "172.26.64.1"},
                {"version": "6", "interface": 3, "address": "fd00::2/64"},
                {"version": "4", "interface": 3, "address": "172.26.64.9/20"},
                {"version": "4", "interface": -7, "address": "10.0.0.1/8"},
            ],
            "dns": {"nameservers": ["10.0.0.53"], "domain": "a.b", "search": ["c.d"]},
        });
        let got = status(&result, "eth0").unwrap();
        assert_eq!((got.interface_name.as_str(), got.address.as_str()), ("eth0", "172.26.64.2"));
        assert_eq!(got.address_ipv6, "fd00::2");
        let dns = got.dns.unwrap();
        assert_eq!((dns.servers, dns.searches), (vec!["10.0.0.53".to_string()], vec!["c.d".into(), "a.b".into()]));
    }

    #[test]
    fn older_and_smaller_results() {
        let got = status(&json!({"ip4": {"ip": "10.1.0.2/16"}, "dns": {}}), "eth0").unwrap();
        assert_eq!((got.interface_name.as_str(), got.address.as_str(), got.dns), ("eth0", "10.1.0.2", None));
        let got = status(&json!({"ips": [{"address": "fd00::2/64"}]}), "eth0").unwrap();
        assert_eq!((got.address.as_str(), got.address_ipv6.as_str()), ("", "fd00::2"));
    }

    #[test]
    fn results_that_cannot_be_used() {
        let error = |result: Value| status(&result, "eth0").unwrap_err().to_string();
        assert!(error(json!({})).contains("no address"));
        assert!(error(json!({"ips": 7})).contains("is invalid"));
        assert!(error(json!({"ips": [{"address": "x/8"}]})).contains("invalid address: \"x/8\""));
        let servers = vec!["1.1.1.1"; 65];
        let many = json!({"ips": [{"address": "10.0.0.1/8"}], "dns": {"nameservers": servers}});
        assert!(error(many).contains("DNS settings"));
        let lines =
            json!({"ips": [{"address": "10.0.0.1/8"}], "dns": {"nameservers": ["1.1.1.1\nnameserver 2.2.2.2"]}});
        assert!(error(lines).contains("DNS settings"));
    }
}
