//! Defaults of services, checks and connect blocks (`docs/spec/jobspec.md §10`).

use encamp_model::SECOND;
use encamp_model::api::*;

use super::policies::{Fill, default_logs};
use super::task::fill_resources;
use super::{default_to, null_if_empty};

/// Fills a service; `name` is its name when it has none.
pub(super) fn canonicalize(service: &mut Service, name: &str) {
    default_to(&mut service.name, name);
    default_to(&mut service.address_mode, "auto");
    default_to(&mut service.on_update, "require_healthy");
    default_to(&mut service.provider, "consul");
    default_to(&mut service.cluster, "default");
    for map in [&mut service.meta, &mut service.canary_meta, &mut service.tagged_addresses] {
        null_if_empty(map);
    }
    if let Some(weights) = &mut service.weights {
        for weight in [&mut weights.passing, &mut weights.warning] {
            if *weight <= 0 {
                *weight = 1;
            }
        }
    }
    if let Some(connect) = &mut service.connect {
        fill_connect(connect);
    }
    for check in service.checks.iter_mut().flatten() {
        fill_check(check, service.check_restart.as_ref(), &service.on_update);
    }
}

fn fill_check(check: &mut ServiceCheck, service_restart: Option<&CheckRestart>, on_update: &str) {
    check.check_restart = match (service_restart, check.check_restart.take()) {
        (Some(base), Some(own)) => Some(CheckRestart {
            limit: if own.limit > 0 { own.limit } else { base.limit },
            grace: own.grace.or(base.grace),
            ignore_warnings: own.ignore_warnings || base.ignore_warnings,
        }),
        (base, own) => own.or_else(|| base.cloned()),
    };
    if let Some(restart) = &mut check.check_restart {
        restart.grace.get_or_insert(SECOND);
    }
    for threshold in
        [&mut check.success_before_passing, &mut check.failures_before_critical, &mut check.failures_before_warning]
    {
        *threshold = (*threshold).max(0);
    }
    default_to(&mut check.on_update, on_update);
}

fn fill_connect(connect: &mut ConsulConnect) {
    if let Some(sidecar) = &mut connect.sidecar_service {
        null_if_empty(&mut sidecar.tags);
        null_if_empty(&mut sidecar.meta);
        if let Some(proxy) = &mut sidecar.proxy {
            fill_proxy(proxy);
        }
    }
    if let Some(task) = &mut connect.sidecar_task {
        fill_sidecar_task(task);
    }
    if let Some(gateway) = &mut connect.gateway {
        fill_gateway(gateway);
    }
}

fn fill_proxy(proxy: &mut ConsulProxy) {
    null_if_empty(&mut proxy.upstreams);
    null_if_empty(&mut proxy.config);
    for upstream in proxy.upstreams.iter_mut().flatten() {
        null_if_empty(&mut upstream.config);
    }
    for expose in [&mut proxy.expose, &mut proxy.expose_config].into_iter().flatten() {
        null_if_empty(&mut expose.paths);
        null_if_empty(&mut expose.path);
    }
    if let Some(transparent) = &mut proxy.transparent_proxy {
        for list in [
            &mut transparent.exclude_inbound_ports,
            &mut transparent.exclude_outbound_cidrs,
            &mut transparent.exclude_u_ids,
        ] {
            null_if_empty(list);
        }
        null_if_empty(&mut transparent.exclude_outbound_ports);
    }
}

/// These values later win over those of the injected sidecar (`docs/spec/jobspec.md §13.3`): a block that says nothing
/// resets it.
fn fill_sidecar_task(task: &mut SidecarTask) {
    null_if_empty(&mut task.config);
    null_if_empty(&mut task.env);
    null_if_empty(&mut task.meta);
    null_if_empty(&mut task.volume_mounts);
    null_if_empty(&mut task.identities);
    fill_resources(task.resources.get_or_insert_default());
    task.log_config.get_or_insert_default().fill(&default_logs());
    task.kill_timeout.get_or_insert(5 * SECOND);
    task.shutdown_delay.get_or_insert(0);
}

fn fill_gateway(gateway: &mut ConsulGateway) {
    if let Some(proxy) = &mut gateway.proxy {
        proxy.connect_timeout.get_or_insert(5 * SECOND);
        null_if_empty(&mut proxy.envoy_gateway_bind_addresses);
        null_if_empty(&mut proxy.config);
    }
    if let Some(ingress) = &mut gateway.ingress {
        fill_tls(&mut ingress.tls);
        null_if_empty(&mut ingress.listeners);
        for listener in ingress.listeners.iter_mut().flatten() {
            default_to(&mut listener.protocol, "tcp");
            null_if_empty(&mut listener.services);
            for service in listener.services.iter_mut().flatten() {
                null_if_empty(&mut service.hosts);
                fill_tls(&mut service.tls);
                for headers in [&mut service.request_headers, &mut service.response_headers].into_iter().flatten() {
                    null_if_empty(&mut headers.add);
                    null_if_empty(&mut headers.set);
                    null_if_empty(&mut headers.remove);
                }
            }
        }
    }
    if let Some(terminating) = &mut gateway.terminating {
        null_if_empty(&mut terminating.services);
    }
}

fn fill_tls(tls: &mut Option<ConsulGatewayTlsConfig>) {
    if let Some(tls) = tls {
        null_if_empty(&mut tls.cipher_suites);
    }
}
