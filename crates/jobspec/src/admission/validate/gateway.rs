//! Connect gateways of services (`docs/spec/jobspec.md §14.12`): the first violated rule is reported.

use std::borrow::Cow;

use encamp_model::quoted;
use encamp_model::{
    ConsulGateway, ConsulGatewayProxy, ConsulIngressConfigEntry, ConsulIngressListener, ConsulIngressService,
    ConsulLinkedService,
};

type Broken = Option<Cow<'static, str>>;

/// The text when the rule is broken.
fn rule(broken: bool, text: &'static str) -> Broken {
    broken.then_some(Cow::Borrowed(text))
}

/// The first rule the gateway breaks.
pub(super) fn gateway(g: &ConsulGateway) -> Broken {
    let kinds = [g.ingress.is_some(), g.terminating.is_some(), g.mesh.is_some()];
    let proxy = g.proxy.as_ref().and_then(proxy);
    let ingress = || g.ingress.as_ref().and_then(ingress);
    let terminating = || {
        let services = &g.terminating.as_ref()?.services;
        rule(services.is_empty(), "Consul Terminating Gateway requires at least one service")
            .or_else(|| services.iter().find_map(linked_service))
    };
    proxy
        .or_else(ingress)
        .or_else(terminating)
        .or_else(|| rule(kinds.into_iter().filter(|k| *k).count() != 1, "One Consul Gateway Configuration must be set"))
}

fn proxy(p: &ConsulGatewayProxy) -> Broken {
    rule(p.connect_timeout.is_none(), "Consul Gateway Proxy connection_timeout must be set")
        .or_else(|| {
            rule(
                !matches!(p.envoy_dns_discovery_type.as_str(), "" | "STRICT_DNS" | "LOGICAL_DNS"),
                "Consul Gateway Proxy Envoy DNS Discovery type must be STRICT_DNS or LOGICAL_DNS",
            )
        })
        .or_else(|| {
            p.envoy_gateway_bind_addresses.iter().flatten().find_map(|(_, bind)| {
                rule(bind.address.is_empty(), "Consul Gateway Bind Address must be set")
                    // -1 lets the network decide.
                    .or_else(|| {
                        rule(bind.port <= 0 && bind.port != -1, "Consul Gateway Bind Address must set valid Port")
                    })
            })
        })
}

fn ingress(i: &ConsulIngressConfigEntry) -> Broken {
    rule(i.listeners.is_empty(), "Consul Ingress Gateway requires at least one listener")
        .or_else(|| i.listeners.iter().find_map(listener))
}

const LISTENER_PROTOCOLS: [&str; 4] = ["tcp", "http", "http2", "grpc"];

fn listener(l: &ConsulIngressListener) -> Broken {
    rule(l.port <= 0, "Consul Ingress Listener requires valid Port")
        .or_else(|| {
            (!LISTENER_PROTOCOLS.contains(&l.protocol.as_str())).then(|| {
                let known = LISTENER_PROTOCOLS.join(", ");
                format!("Consul Ingress Listener requires protocol of {known}, got {}", quoted(&l.protocol)).into()
            })
        })
        .or_else(|| rule(l.services.is_empty(), "Consul Ingress Listener requires one or more services"))
        .or_else(|| l.services.iter().find_map(|s| ingress_service(s, l.protocol == "tcp")))
}

fn ingress_service(s: &ConsulIngressService, tcp: bool) -> Broken {
    let (wildcard, hosts) = (s.name == "*", !s.hosts.is_empty());
    [
        (s.name.is_empty(), "Consul Ingress Service requires a name"),
        (tcp && wildcard, "Consul Ingress Service doesn't support wildcard name for \"tcp\" protocol"),
        (
            tcp && hosts,
            "Consul Ingress Service doesn't support associating hosts to a service for the \"tcp\" protocol",
        ),
        (wildcard && hosts, "Consul Ingress Service with a wildcard \"*\" service name can not also specify hosts"),
    ]
    .into_iter()
    .find_map(|(broken, text)| rule(broken, text))
}

fn linked_service(s: &ConsulLinkedService) -> Broken {
    let [ca, cert, key, sni] = [&s.ca_file, &s.cert_file, &s.key_file, &s.sni].map(|f| !f.is_empty());
    [
        (s.name.is_empty(), "Consul Linked Service requires Name"),
        ((cert || key) && !ca, "Consul Linked Service TLS requires CAFile"),
        (cert != key, "Consul Linked Service TLS Cert and Key must both be set"),
        (sni && !ca, "Consul Linked Service TLS SNI requires CAFile"),
    ]
    .into_iter()
    .find_map(|(broken, text)| rule(broken, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{ConsulGatewayBindAddress, ConsulMeshConfigEntry, ConsulTerminatingConfigEntry};

    fn with_proxy(change: impl FnOnce(&mut ConsulGatewayProxy)) -> ConsulGateway {
        let mut proxy = ConsulGatewayProxy { connect_timeout: Some(5), ..ConsulGatewayProxy::default() };
        change(&mut proxy);
        ConsulGateway { proxy: Some(proxy), mesh: Some(ConsulMeshConfigEntry {}), ..ConsulGateway::default() }
    }

    fn with_bind(address: &str, port: i64) -> ConsulGateway {
        with_proxy(|p| {
            let bind = ConsulGatewayBindAddress { address: address.into(), port };
            p.envoy_gateway_bind_addresses = Some([("x".to_string(), bind)].into());
        })
    }

    fn with_listeners(listeners: Vec<ConsulIngressListener>) -> ConsulGateway {
        let ingress = Some(ConsulIngressConfigEntry { tls: None, listeners });
        ConsulGateway { ingress, ..ConsulGateway::default() }
    }

    fn with_listener(port: i64, protocol: &str, services: &[(&str, &[&str])]) -> ConsulGateway {
        let services = services
            .iter()
            .map(|(name, hosts)| ConsulIngressService {
                name: name.to_string(),
                hosts: hosts.iter().map(|h| h.to_string()).collect(),
                ..ConsulIngressService::default()
            })
            .collect();
        with_listeners(vec![ConsulIngressListener { port, protocol: protocol.into(), services }])
    }

    fn with_linked(name: &str, [ca, cert, key, sni]: [&str; 4]) -> ConsulGateway {
        let service = ConsulLinkedService {
            name: name.into(),
            ca_file: ca.into(),
            cert_file: cert.into(),
            key_file: key.into(),
            sni: sni.into(),
        };
        let terminating = Some(ConsulTerminatingConfigEntry { services: vec![service] });
        ConsulGateway { terminating, ..ConsulGateway::default() }
    }

    #[test]
    fn gateway_texts() {
        let one = "One Consul Gateway Configuration must be set";
        for (g, want) in [
            (with_proxy(|_| {}), ""),
            (with_proxy(|p| p.connect_timeout = None), "Consul Gateway Proxy connection_timeout must be set"),
            (
                with_proxy(|p| p.envoy_dns_discovery_type = "SOMETIMES".into()),
                "Consul Gateway Proxy Envoy DNS Discovery type must be STRICT_DNS or LOGICAL_DNS",
            ),
            (with_proxy(|p| p.envoy_dns_discovery_type = "LOGICAL_DNS".into()), ""),
            (with_bind("", 1), "Consul Gateway Bind Address must be set"),
            (with_bind("::", 0), "Consul Gateway Bind Address must set valid Port"),
            (with_bind("::", -1), ""),
            (with_listeners(vec![]), "Consul Ingress Gateway requires at least one listener"),
            (with_listener(0, "tcp", &[("a", &[])]), "Consul Ingress Listener requires valid Port"),
            (
                with_listener(1, "udp", &[("a", &[])]),
                "Consul Ingress Listener requires protocol of tcp, http, http2, grpc, got \"udp\"",
            ),
            (with_listener(1, "tcp", &[]), "Consul Ingress Listener requires one or more services"),
            (with_listener(1, "tcp", &[("", &[])]), "Consul Ingress Service requires a name"),
            (
                with_listener(1, "tcp", &[("*", &["x"])]),
                "Consul Ingress Service doesn't support wildcard name for \"tcp\" protocol",
            ),
            (
                with_listener(1, "tcp", &[("a", &["x"])]),
                "Consul Ingress Service doesn't support associating hosts to a service for the \"tcp\" protocol",
            ),
            (
                with_listener(1, "http", &[("a", &["x"]), ("*", &["x"])]),
                "Consul Ingress Service with a wildcard \"*\" service name can not also specify hosts",
            ),
            (with_listener(1, "grpc", &[("*", &[])]), ""),
            (
                ConsulGateway {
                    terminating: Some(ConsulTerminatingConfigEntry::default()),
                    ..ConsulGateway::default()
                },
                "Consul Terminating Gateway requires at least one service",
            ),
            (with_linked("", [""; 4]), "Consul Linked Service requires Name"),
            (with_linked("a", ["", "x", "", ""]), "Consul Linked Service TLS requires CAFile"),
            (with_linked("a", ["x", "x", "", ""]), "Consul Linked Service TLS Cert and Key must both be set"),
            (with_linked("a", ["", "", "", "x"]), "Consul Linked Service TLS SNI requires CAFile"),
            (with_linked("a", ["x"; 4]), ""),
            (ConsulGateway::default(), one),
            (ConsulGateway { mesh: Some(ConsulMeshConfigEntry {}), ..with_linked("a", [""; 4]) }, one),
        ] {
            assert_eq!(gateway(&g).unwrap_or_default(), want, "{g:?}");
        }
    }
}
