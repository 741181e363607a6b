//! Consul gateways: their proxy, ports and task (`docs/spec/jobspec.md §13.3`).

use std::collections::BTreeMap;

use serde_json::Value;

use encamp_model::*;

use super::connect::{ConnectError, Known, add_dynamic_port, add_task, proxy_task};
use super::constraint;

/// Completes a gateway service. `group` comes without its services.
pub(super) fn mutate(
    service: &mut Service,
    gateway: &mut ConsulGateway,
    overrides: Option<&SidecarTask>,
    group: &mut TaskGroup,
    known: &mut Known,
) -> Result<(), ConnectError> {
    let mode = group.networks.first().map(|n| n.mode.clone()).unwrap_or_default();
    gateway.proxy = Some(proxy(gateway, &mode));
    let kind = if gateway.ingress.is_some() {
        "ingress"
    } else if gateway.terminating.is_some() {
        "terminating"
    } else if gateway.mesh.is_some() {
        "mesh"
    } else {
        return Ok(());
    };
    let name = format!("connect-{kind}-{}", service.name);
    if kind == "terminating" && service.port_label.is_empty() {
        service.port_label.clone_from(&name);
        add_dynamic_port(group, &name);
    }
    if kind == "mesh" {
        if service.port_label.is_empty() {
            return Err(ConnectError::NoGatewayPort);
        }
        add_dynamic_port(group, &format!("{name}-lan"));
    }
    let task_kind = format!("connect-{kind}:{}", service.name);
    if known.has_kind(group, &task_kind) {
        return Ok(());
    }
    let mut task = proxy_task(name, task_kind, "${meta.connect.gateway_image}", group);
    if mode == "host" {
        task.config.insert("network_mode".into(), Value::from("host"));
    }
    if gateway.ingress.as_ref().is_some_and(restricts_tls) {
        task.constraints.push(constraint("${attr.consul.version}", "semver", ">= 1.11.2"));
    }
    add_task(task, overrides, group);
    Ok(())
}

/// The proxy a gateway ends up with: the job's own where it says how to bind, else one that fits the network mode.
fn proxy(gateway: &ConsulGateway, mode: &str) -> ConsulGatewayProxy {
    let given = gateway.proxy.clone().unwrap_or_default();
    let customised = given.envoy_gateway_no_default_bind
        || given.envoy_gateway_bind_tagged_addresses
        || given.envoy_gateway_bind_addresses.as_ref().is_some_and(|a| !a.is_empty());
    if customised {
        return given;
    }
    let mut proxy = ConsulGatewayProxy {
        connect_timeout: Some(given.connect_timeout.unwrap_or(5 * SECOND)),
        envoy_dns_discovery_type: given.envoy_dns_discovery_type,
        config: given.config,
        ..ConsulGatewayProxy::default()
    };
    if mode == "bridge" || mode.starts_with("cni/") {
        proxy.envoy_gateway_no_default_bind = true;
        proxy.envoy_gateway_bind_addresses = Some(bind_addresses(gateway));
    }
    proxy
}

fn bind_addresses(gateway: &ConsulGateway) -> BTreeMap<String, ConsulGatewayBindAddress> {
    let everywhere =
        |name: &str, port| (name.to_string(), ConsulGatewayBindAddress { address: "0.0.0.0".into(), port });
    if let Some(ingress) = &gateway.ingress {
        let listeners = ingress.listeners.iter();
        listeners.flat_map(|l| l.services.iter().map(|s| everywhere(&s.name, l.port))).collect()
    } else if gateway.terminating.is_some() {
        BTreeMap::from([everywhere("default", -1)])
    } else if gateway.mesh.is_some() {
        BTreeMap::from([everywhere("wan", -1), everywhere("lan", -1)])
    } else {
        BTreeMap::new()
    }
}

/// Whether the listeners' TLS has settings that older Consul does not know.
fn restricts_tls(ingress: &ConsulIngressConfigEntry) -> bool {
    ingress.tls.as_ref().is_some_and(|tls| {
        !tls.tls_min_version.is_empty() || !tls.tls_max_version.is_empty() || !tls.cipher_suites.is_empty()
    })
}
