//! The addresses that an agent binds, and those that it advertises (`docs/spec/agent-config.md §8`).

use std::net::{IpAddr, Ipv6Addr};

use thiserror::Error;

use super::interfaces::Interface;
use super::settings::Config;
use super::template::{self, TemplateError};

/// An address or interface that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    /// An address to bind or to advertise.
    #[error("Failed to parse {what}: {source}")]
    Address {
        /// The meaning of the address.
        what: &'static str,
        /// The problem.
        source: InvalidAddress,
    },
    /// No address to advertise is given, and the one to bind is only reachable from this host.
    #[error(
        "Failed to parse {what} (, {bind}, {port}, false): Defaulting advertise to localhost is unsafe, please set \
         advertise manually"
    )]
    Loopback {
        /// The meaning of the address.
        what: &'static str,
        /// The address to bind.
        bind: String,
        /// The port.
        port: i64,
    },
    /// The template of `client.network_interface`.
    #[error(transparent)]
    InterfaceTemplate(#[from] TemplateError),
    /// The template of `client.network_interface` gives no interface of this host.
    #[error("invalid interface name {}", encamp_model::quoted(.0))]
    Interface(String),
}

/// The problem of an address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidAddress {
    /// Its template.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Its template gives nothing.
    #[error("{0} gives no address")]
    None(String),
    /// Its template gives several addresses where there is one.
    #[error("{given} gives several addresses: {rendered}")]
    Several {
        /// The template.
        given: String,
        /// The addresses.
        rendered: String,
    },
    /// The text is not an IP address.
    #[error("{0} is not an IP address")]
    NotIp(String),
    /// The address to bind, which others would use, is not an IP address.
    #[error("{0}")]
    Bound(String),
    /// This host has no private address to advertise.
    #[error("no private address found, please set advertise manually")]
    NoPrivate,
}

const HTTP_BIND: &str = "HTTP bind address";

/// Fills in `addresses` (IP addresses) and `advertise` (addresses with ports), and renders `client.network_interface`.
pub fn normalize(config: &mut Config, host: &[Interface]) -> Result<(), AddressError> {
    let bind = one(&config.bind_addr, "bind_addr", host)?;
    config.bind_addr = bind.clone();
    let given = config.addresses.clone();
    let or_bind = |text: &str| if text.is_empty() { bind.clone() } else { text.to_string() };
    config.addresses.http = several(&or_bind(&given.http), host)?.join(" ");
    config.addresses.rpc = one(&or_bind(&given.rpc), "RPC bind address", host)?;
    config.addresses.serf = one(&or_bind(&given.serf), "Serf bind address", host)?;

    let dev = config.dev;
    let http = config.addresses.http.split(' ').next().unwrap_or_default().to_string();
    let what = "HTTP advertise address";
    config.advertise.http = advertised(what, &config.advertise.http, &http, config.ports.http, dev, host)?;
    if config.server.enabled || config.client.enabled {
        let (rpc, port) = (config.addresses.rpc.clone(), config.ports.rpc);
        config.advertise.rpc = advertised("RPC advertise address", &config.advertise.rpc, &rpc, port, dev, host)?;
    }
    if config.server.enabled {
        let (serf, port) = (config.addresses.serf.clone(), config.ports.serf);
        config.advertise.serf = advertised("Serf advertise address", &config.advertise.serf, &serf, port, dev, host)?;
    }
    let interface = template::render(&config.client.network_interface, host)?;
    if config.client.network_interface.contains("{{") && !host.iter().any(|i| i.name == interface) {
        return Err(AddressError::Interface(interface));
    }
    config.client.network_interface = interface;
    Ok(())
}

/// An IP address and a port as text, `[v6]:port` where needed.
pub fn join_port(host: &str, port: i64) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn several(text: &str, host: &[Interface]) -> Result<Vec<String>, AddressError> {
    let rendered = template::render(text, host).map_err(|e| failed(HTTP_BIND, e))?;
    let ips: Vec<String> = rendered.split_whitespace().map(|ip| ip_text(ip, HTTP_BIND)).collect::<Result<_, _>>()?;
    if ips.is_empty() { Err(failed(HTTP_BIND, InvalidAddress::None(text.into()))) } else { Ok(ips) }
}

fn one(text: &str, what: &'static str, host: &[Interface]) -> Result<String, AddressError> {
    let rendered = template::render(text, host).map_err(|e| failed(what, e))?;
    let mut words = rendered.split_whitespace();
    match (words.next(), words.next()) {
        (Some(ip), None) => ip_text(ip, what),
        (None, _) => Err(failed(what, InvalidAddress::None(text.into()))),
        _ => Err(failed(what, InvalidAddress::Several { given: text.into(), rendered })),
    }
}

/// The address in its normal form, without brackets.
fn ip_text(text: &str, what: &'static str) -> Result<String, AddressError> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    let ip: IpAddr = match bare {
        // A name that every host has.
        "localhost" => std::net::Ipv4Addr::LOCALHOST.into(),
        _ => bare.parse().map_err(|_| failed(what, InvalidAddress::NotIp(text.into())))?,
    };
    Ok(ip.to_string())
}

fn failed(what: &'static str, source: impl Into<InvalidAddress>) -> AddressError {
    AddressError::Address { what, source: source.into() }
}

/// The address to advertise (`§8.2`): what is given, else what is bound, else a private address of this host.
fn advertised(
    what: &'static str,
    given: &str,
    bind: &str,
    port: i64,
    dev: bool,
    host: &[Interface],
) -> Result<String, AddressError> {
    if !given.is_empty() {
        let text = template::render(given, host).map_err(|e| failed(what, e))?;
        if text.trim().is_empty() {
            return Err(failed(what, InvalidAddress::None(given.into())));
        }
        let bare_v6 = text.parse::<Ipv6Addr>().is_ok() || text.ends_with(']');
        let has_port = !bare_v6 && text.rsplit_once(':').is_some_and(|(_, p)| p.parse::<u16>().is_ok());
        return Ok(if has_port { text } else { join_port(text.trim(), port) });
    }
    let ip: IpAddr = bind.parse().map_err(|_| failed(what, InvalidAddress::Bound(bind.into())))?;
    if ip.is_unspecified() {
        let private = template::render("{{ GetPrivateIP }}", host).map_err(|e| failed(what, e))?;
        if private.is_empty() {
            return Err(failed(what, InvalidAddress::NoPrivate));
        }
        return Ok(join_port(&private, port));
    }
    if ip.is_loopback() && !dev {
        return Err(AddressError::Loopback { what, bind: bind.into(), port });
    }
    Ok(join_port(bind, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Vec<Interface> {
        let ip = IpAddr::from([10, 0, 0, 5]);
        vec![Interface { name: "eth0".into(), ip, prefix: 24, up: true, default_route: true }]
    }

    fn config(dev: bool, bind: &str) -> Config {
        let mut c = Config { dev, ..Config::default() };
        c.bind_addr = bind.into();
        c.server.enabled = true;
        c.client.enabled = true;
        c
    }

    #[test]
    fn a_wildcard_advertises_the_private_address() {
        let mut c = config(false, "0.0.0.0");
        c.ports.serf = 99;
        normalize(&mut c, &host()).expect("addresses");
        assert_eq!(c.addresses.http, "0.0.0.0");
        assert_eq!((c.advertise.http.as_str(), c.advertise.serf.as_str()), ("10.0.0.5:4646", "10.0.0.5:99"));
        assert!(normalize(&mut config(false, "::"), &[]).is_err(), "nothing private to advertise");
    }

    #[test]
    fn loopback_is_only_advertised_in_dev_mode() {
        let mut c = config(true, "127.0.0.1");
        normalize(&mut c, &[]).expect("addresses");
        assert_eq!(c.advertise.rpc, "127.0.0.1:4647");
        let error = normalize(&mut config(false, "127.0.0.1"), &[]).expect_err("unsafe").to_string();
        assert_eq!(
            error,
            "Failed to parse HTTP advertise address (, 127.0.0.1, 4646, false): \
             Defaulting advertise to localhost is unsafe, please set advertise manually"
        );
    }

    #[test]
    fn given_addresses_get_the_port_they_lack() {
        for (given, want) in [
            ("1.2.3.4", "1.2.3.4:4646"),
            ("1.2.3.4:80", "1.2.3.4:80"),
            ("node.example", "node.example:4646"),
            ("::1", "[::1]:4646"),
            ("[::1]", "[::1]:4646"),
            ("[::1]:80", "[::1]:80"),
            ("{{ GetPrivateIP }}", "10.0.0.5:4646"),
        ] {
            let mut c = config(true, "127.0.0.1");
            c.advertise.http = given.into();
            normalize(&mut c, &host()).expect(given);
            assert_eq!(c.advertise.http, want, "{given}");
        }
    }

    #[test]
    fn only_http_binds_several_addresses() {
        let mut c = config(true, "127.0.0.1");
        c.addresses.http = "127.0.0.1 [0:0::1]".into();
        normalize(&mut c, &[]).expect("addresses");
        assert_eq!(c.addresses.http, "127.0.0.1 ::1");
        c.addresses.rpc = "127.0.0.1 127.0.0.2".into();
        let error = normalize(&mut c, &[]).expect_err("two addresses").to_string();
        assert!(error.starts_with("Failed to parse RPC bind address: "), "{error}");
        let mut c = config(true, "nosuch");
        assert!(normalize(&mut c, &[]).is_err());
        c = config(true, "127.0.0.1");
        c.client.network_interface = "{{ GetInterfaceIP \"x\" }}".into();
        assert_eq!(normalize(&mut c, &host()).expect_err("no name").to_string(), "invalid interface name \"\"");
    }
}
