//! Implied constraints: requirements of the job's contents on nodes (`docs/spec/jobspec.md §13.5`).

use std::collections::BTreeSet;

use encamp_model::*;

use super::{add_full, add_left, constraint};

/// CNI plugins that bridge networking needs.
const BRIDGE_PLUGINS: [&str; 5] = ["bridge", "firewall", "host-local", "loopback", "portmap"];

/// Appends the implied constraints to every group (and, for Consul services, task).
pub(super) fn mutate(job: &mut Job) {
    let mut providers: Vec<String> = Vec::new();
    for secret in job.task_groups.iter().flat_map(|g| &g.tasks).flat_map(|t| &t.secrets) {
        if !providers.contains(&secret.provider) {
            providers.push(secret.provider.clone());
        }
    }
    for group in &mut job.task_groups {
        imply_vault_and_secrets(group, &providers);
        imply_signals(group);
        imply_services(group);
        imply_networks(group);
    }
}

/// `providers` are those of the whole job: every group gets them, used or not.
fn imply_vault_and_secrets(group: &mut TaskGroup, providers: &[String]) {
    if group.tasks.iter().any(|t| t.vault.is_some()) {
        add_left(&mut group.constraints, constraint("${attr.vault.version}", "semver", ">= 0.6.1"));
    }
    for provider in providers {
        let attribute = format!("${{attr.plugins.secrets.{provider}.version}}");
        add_left(&mut group.constraints, constraint(&attribute, "is_set", ""));
    }
}

fn imply_signals(group: &mut TaskGroup) {
    let mut signals: BTreeSet<&str> = BTreeSet::new();
    for task in &group.tasks {
        signals.extend(Some(task.kill_signal.as_str()).filter(|s| !s.is_empty()));
        let vault = task.vault.iter().map(|v| (&v.change_mode, &v.change_signal));
        let templates = task.templates.iter().map(|t| (&t.change_mode, &t.change_signal));
        signals.extend(templates.chain(vault).filter(|(mode, _)| *mode == "signal").map(|(_, signal)| signal.as_str()));
    }
    if !signals.is_empty() {
        let list = signals.into_iter().collect::<Vec<_>>().join(",");
        add_full(&mut group.constraints, constraint("${attr.os.signals}", "set_contains", &list));
    }
}

fn imply_services(group: &mut TaskGroup) {
    let services = || group.services.iter().chain(group.tasks.iter().flat_map(|t| &t.services));
    let native = services().any(|s| s.provider == "nomad");
    let checked = services().any(|s| s.provider == "nomad" && !s.checks.is_empty());
    if native {
        add_full(&mut group.constraints, constraint("${attr.nomad.service_discovery}", "=", "true"));
    }
    if checked {
        add_full(&mut group.constraints, constraint("${attr.nomad.version}", "semver", ">= 1.4.0"));
    }
    let imply_consul = |services: &[Service], constraints: &mut Vec<Constraint>| {
        if services.iter().any(|s| s.provider == "consul") {
            add_left(constraints, constraint("${attr.consul.version}", "semver", ">= 1.8.0"));
        }
    };
    imply_consul(&group.services, &mut group.constraints);
    for task in &mut group.tasks {
        imply_consul(&task.services, &mut task.constraints);
    }
}

fn imply_networks(group: &mut TaskGroup) {
    let plugin = |name: &str, version: &str| {
        constraint(&format!("${{attr.plugins.cni.version.{name}}}"), "semver", &format!(">= {version}"))
    };
    if group.networks.iter().any(|n| n.mode == "bridge") {
        for name in BRIDGE_PLUGINS {
            add_left(&mut group.constraints, plugin(name, "0.4.0"));
        }
    }
    let transparent = |s: &Service| {
        let proxy = s.connect.as_ref().and_then(|c| c.sidecar_service.as_ref()).and_then(|s| s.proxy.as_ref());
        proxy.is_some_and(|p| p.transparent_proxy.is_some())
    };
    if group.services.iter().any(transparent) {
        add_left(&mut group.constraints, plugin("consul-cni", "1.4.2"));
        add_left(&mut group.constraints, constraint("${attr.nomad.version}", "semver", ">= 1.8.0-dev"));
    }
}
