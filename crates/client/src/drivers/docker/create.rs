//! A container as the daemon is to make it: command, environment, labels, network (`docs/spec/client.md §23.3`).

use std::collections::{BTreeMap, HashMap};

use bollard::models::{
    ContainerCreateBody, EndpointIpamConfig, EndpointSettings, HealthConfig, HostConfig, HostConfigLogConfig,
    NetworkingConfig, PortBinding,
};

use super::super::config_block::ConfigError;
use super::super::{StartFailure, StartTask};
use super::network_holder::Holder;
use super::task_config::TaskConfig;
use super::{limits, mounts};
use crate::config::docker::DockerConfig;
use encamp_model::glob;

/// What all labels of the driver begin with.
const LABELS: &str = "com.hashicorp.nomad.";
/// The label with the ID of the allocation: it marks the containers of the driver.
pub(super) const ALLOC_LABEL: &str = "com.hashicorp.nomad.alloc_id";
/// The label with the ID of the node, by which nodes tell their containers from those of others on the same daemon.
pub(super) const NODE_LABEL: &str = "com.hashicorp.nomad.node_id";
/// The network of containers that do not say one.
const DEFAULT: &str = "default";

/// The name of a task's container.
pub(super) fn name(task: &str, alloc_id: &str) -> String {
    format!("{task}-{alloc_id}").replace('/', "_")
}

/// The ports of the allocation that a container publishes: label, host address and port, port inside.
fn published<'a>(task: &TaskConfig, start: &'a StartTask) -> Result<Vec<(&'a str, &'a str, i64, i64)>, ConfigError> {
    let find = |label: &str| {
        let found = start.ports.iter().find(|p| p.label == label);
        found.ok_or_else(|| ConfigError::value("ports", format!("Port {label:?} not found, check network block")))
    };
    let mut out = Vec::new();
    for label in &task.ports {
        let port = find(label)?;
        let inside = if port.to > 0 { port.to } else { port.value };
        out.push((port.label.as_str(), port.host_ip.as_str(), port.value, inside));
    }
    for (label, inside) in &task.port_map {
        let port = find(label)?;
        out.push((port.label.as_str(), port.host_ip.as_str(), port.value, *inside));
    }
    Ok(out)
}

/// The ports inside by label, for services that are found at the container's address.
pub(super) fn port_map(task: &TaskConfig, start: &StartTask) -> BTreeMap<String, i64> {
    let ports = published(task, start).unwrap_or_default();
    ports.into_iter().map(|(label, _, _, inside)| (label.to_string(), inside)).collect()
}

/// The network of a container.
pub(super) fn network_mode(task: &TaskConfig, start: &StartTask) -> String {
    if let Some(holder) = Holder::of_task(task, start) {
        return format!("container:{}", holder.holder);
    }
    match (task.network_mode.as_str(), &start.network_namespace) {
        ("", Some(_)) => "none".into(),
        ("", None) => DEFAULT.into(),
        (mode, _) => mode.into(),
    }
}

/// Whether a network is made by the daemon and has a name of its own.
fn is_named(mode: &str) -> bool {
    !matches!(mode, "default" | "bridge" | "host" | "none") && !mode.contains(':')
}

fn labels(config: &DockerConfig, task: &TaskConfig, start: &StartTask, node_id: &str) -> HashMap<String, String> {
    let n = &start.names;
    let known = [
        ("job_name", &n.job_name),
        ("job_id", &n.job_id),
        ("parent_job_id", &n.parent_job_id),
        ("task_group_name", &n.group),
        ("task_name", &start.task),
        ("namespace", &n.namespace),
        ("node_name", &n.node_name),
    ];
    let mut out: HashMap<String, String> = task.labels.clone().into_iter().collect();
    for (name, value) in known {
        if !value.is_empty() && config.extra_labels.iter().any(|pattern| glob::matches(pattern, name)) {
            out.insert(format!("{LABELS}{name}"), value.clone());
        }
    }
    out.insert(ALLOC_LABEL.into(), n.alloc_id.clone());
    out.insert(NODE_LABEL.into(), node_id.into());
    out
}

fn set<T>(values: Vec<T>) -> Option<Vec<T>> {
    (!values.is_empty()).then_some(values)
}

fn text(value: &str) -> Option<String> {
    (!value.is_empty()).then(|| value.to_string())
}

/// The network settings of a container besides its ports.
fn endpoints(task: &TaskConfig, mode: &str) -> Option<NetworkingConfig> {
    let addresses = [&task.ipv4_address, &task.ipv6_address, &task.mac_address].iter().any(|a| !a.is_empty());
    if !is_named(mode) || (!addresses && task.network_aliases.is_empty()) {
        return None;
    }
    let settings = EndpointSettings {
        aliases: set(task.network_aliases.clone()),
        mac_address: text(&task.mac_address),
        ipam_config: Some(EndpointIpamConfig {
            ipv4_address: text(&task.ipv4_address),
            ipv6_address: text(&task.ipv6_address),
            link_local_ips: None,
        }),
        ..EndpointSettings::default()
    };
    Some(NetworkingConfig { endpoints_config: Some([(mode.to_string(), settings)].into()) })
}

/// The container of a task, of an image whose ID is known.
pub(super) fn container(
    config: &DockerConfig,
    task: &TaskConfig,
    start: &StartTask,
    image: &str,
    node_id: &str,
) -> Result<ContainerCreateBody, StartFailure> {
    let mode = network_mode(task, start);
    let logging = task.logging.as_ref().unwrap_or(&config.logging);
    let mut host = HostConfig {
        network_mode: Some(mode.clone()),
        log_config: Some(HostConfigLogConfig {
            typ: Some(logging.driver.clone()),
            config: Some(logging.options.clone().into_iter().collect()),
        }),
        dns: set(task.dns_servers.clone()),
        dns_search: set(task.dns_search.clone()),
        dns_options: set(task.dns_options.clone()),
        extra_hosts: set(task.extra_hosts.clone()),
        sysctls: Some(task.sysctl.clone().into_iter().collect()).filter(|m: &HashMap<_, _>| !m.is_empty()),
        storage_opt: Some(task.storage_opt.clone().into_iter().collect()).filter(|m: &HashMap<_, _>| !m.is_empty()),
        shm_size: Some(task.shm_size).filter(|n| *n > 0),
        init: task.init.then_some(true),
        ..HostConfig::default()
    };
    limits::apply(&mut host, config, task, start).map_err(StartFailure::fatal)?;
    mounts::apply(&mut host, config, task, start).map_err(StartFailure::fatal)?;
    let (mut exposed, mut bindings) = (Vec::new(), HashMap::new());
    // In a network of the allocation, the allocation publishes them.
    let ports = if start.network_namespace.is_none() { published(task, start)? } else { Vec::new() };
    for (_, address, value, inside) in ports {
        for protocol in ["tcp", "udp"] {
            let key = format!("{inside}/{protocol}");
            let binding = PortBinding { host_ip: text(address), host_port: Some(value.to_string()) };
            exposed.push(key.clone());
            bindings.entry(key).or_insert_with(|| Some(Vec::new())).get_or_insert_default().push(binding);
        }
    }
    host.port_bindings = Some(bindings).filter(|b: &HashMap<_, _>| !b.is_empty() && mode != "host");
    let command = (!task.command.is_empty()).then(|| task.command.clone());
    let healthcheck =
        task.healthchecks_disabled.then(|| HealthConfig { test: Some(vec!["NONE".into()]), ..HealthConfig::default() });
    Ok(ContainerCreateBody {
        image: Some(image.into()),
        hostname: text(&task.hostname),
        user: text(&start.user),
        env: Some(start.env.iter().map(|(k, v)| format!("{k}={v}")).collect()),
        entrypoint: task.entrypoint.clone(),
        cmd: set(command.into_iter().chain(task.args.iter().cloned()).collect()),
        working_dir: text(&task.work_dir),
        tty: task.tty.then_some(true),
        open_stdin: task.interactive.then_some(true),
        labels: Some(labels(config, task, start, node_id)),
        exposed_ports: set(exposed),
        healthcheck,
        networking_config: endpoints(task, &mode),
        host_config: Some(host),
        ..ContainerCreateBody::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::network::TaskNetwork;
    use encamp_model::AllocatedPortMapping;

    fn start() -> StartTask {
        let port = |label: &str, value, to| AllocatedPortMapping {
            label: label.into(),
            value,
            to,
            host_ip: "10.0.0.1".into(),
            ..AllocatedPortMapping::default()
        };
        let mut start = StartTask {
            task: "t".into(),
            alloc_dir: "/a".into(),
            ports: vec![port("http", 2000, 80), port("db", 2001, 0)],
            env: [("A".to_string(), "1".to_string())].into(),
            ..StartTask::default()
        };
        start.names.alloc_id = "id".into();
        start.names.job_id = "web/periodic-1".into();
        start
    }

    fn made(json: &str, start: &StartTask) -> Result<ContainerCreateBody, StartFailure> {
        let task = TaskConfig::read(&serde_json::from_str(json).unwrap()).unwrap();
        let config = DockerConfig { extra_labels: vec!["job*".into()], ..DockerConfig::default() };
        container(&config, &task, start, "sha256:1", "n1")
    }

    #[test]
    fn containers_of_tasks() {
        let body = made(
            r#"{"image":"x","command":"/bin/a","args":["b"],"ports":["http","db"],"labels":{"mine":"1","com.hashicorp.nomad.alloc_id":"x"},
            "healthchecks":{"disable":true},"tty":true,"init":true,"sysctl":{"net.core.somaxconn":"5"}}"#,
            &start(),
        )
        .unwrap();
        assert_eq!(
            (body.cmd.unwrap(), body.env.unwrap()),
            (vec!["/bin/a".to_string(), "b".into()], vec!["A=1".to_string()])
        );
        let labels = body.labels.unwrap();
        assert_eq!(
            (labels[ALLOC_LABEL].as_str(), labels[NODE_LABEL].as_str(), labels["mine"].as_str()),
            ("id", "n1", "1")
        );
        assert_eq!(labels["com.hashicorp.nomad.job_id"], "web/periodic-1");
        assert_eq!(body.healthcheck.unwrap().test.unwrap(), ["NONE"]);
        let host = body.host_config.unwrap();
        let ports = host.port_bindings.unwrap();
        assert_eq!(ports.len(), 4, "tcp and udp each");
        let binding = &ports["80/tcp"].as_ref().unwrap()[0];
        assert_eq!((binding.host_ip.as_deref(), binding.host_port.as_deref()), (Some("10.0.0.1"), Some("2000")));
        assert!(ports.contains_key("2001/udp"));
        assert_eq!((host.network_mode.as_deref(), host.init), (Some("default"), Some(true)));
        assert_eq!(host.binds.unwrap()[0], "/a/alloc:/alloc");
        assert_eq!(name("a/b", "id"), "a_b-id");
    }

    #[test]
    fn networks_of_containers() {
        let error = made(r#"{"image":"x","ports":["nosuch"]}"#, &start()).err().unwrap().to_string();
        assert!(error.ends_with("Port \"nosuch\" not found, check network block"), "{error}");
        let isolated = StartTask { network_namespace: Some("/run/netns/x".into()), ..start() };
        let host = made(r#"{"image":"x","ports":["http"]}"#, &isolated).unwrap().host_config.unwrap();
        assert_eq!((host.network_mode.as_deref(), host.port_bindings), (Some("none"), None));
        let network = TaskNetwork {
            made: serde_json::json!({"holder": "c9", "holder_name": "nomad_init_id", "holder_image": "sha256:2"}),
            ..TaskNetwork::default()
        };
        let shared = StartTask { network, ..isolated };
        let mode = |json: &str| made(json, &shared).unwrap().host_config.unwrap().network_mode.unwrap();
        assert_eq!(mode(r#"{"image":"x","ports":["http"]}"#), "container:c9");
        assert_eq!(mode(r#"{"image":"x","network_mode":"host"}"#), "host");
        let named = made(r#"{"image":"x","network_mode":"net1","ipv4_address":"10.1.0.9"}"#, &start()).unwrap();
        let endpoints = named.networking_config.unwrap().endpoints_config.unwrap();
        assert_eq!(endpoints["net1"].ipam_config.as_ref().unwrap().ipv4_address.as_deref(), Some("10.1.0.9"));
        let host =
            made(r#"{"image":"x","network_mode":"host","ports":["http"]}"#, &start()).unwrap().host_config.unwrap();
        assert_eq!(host.port_bindings, None);
    }
}
