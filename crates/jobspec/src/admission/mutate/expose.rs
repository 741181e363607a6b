//! Ports and proxy paths of exposed checks (`docs/spec/jobspec.md §13.4`).

use sha2::{Digest, Sha256};
use thiserror::Error;

use encamp_model::*;

/// Why a check can't be exposed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ExposeError {
    /// The group does not have exactly one network.
    #[error(
        "connect expose check: must have exactly one network for Consul Connect: group {} has {count} networks",
        quoted(group)
    )]
    Networks {
        /// The name of the group.
        group: String,
        /// How many networks the group has.
        count: usize,
    },
    /// The network of the group is not in a mode that Connect works with.
    #[error(
        "connect expose check: invalid network mode for Consul Connect: group {} uses network mode {}; must be \
         \"bridge\" or \"cni/*\"",
        quoted(group),
        quoted(mode)
    )]
    NetworkMode {
        /// The name of the group.
        group: String,
        /// The mode of the network.
        mode: String,
    },
    /// The port that the service listens on is not known before the job is placed.
    #[error("unable to determine local service port for service check {group}->{service}->{check}")]
    ServicePort {
        /// The name of the group.
        group: String,
        /// The name of the service.
        service: String,
        /// The name of the check.
        check: String,
    },
}

/// Makes checks with `expose` reachable through their service's sidecar.
pub(super) fn mutate(job: &mut Job) -> Result<(), ExposeError> {
    for group in &mut job.task_groups {
        let TaskGroup { name: group_name, networks, services, .. } = group;
        for service in services {
            mutate_service(service, group_name, networks)?;
        }
    }
    Ok(())
}

fn mutate_service(service: &mut Service, group: &str, networks: &mut [NetworkResource]) -> Result<(), ExposeError> {
    let Some(sidecar) = service.connect.as_mut().and_then(|c| c.sidecar_service.as_mut()) else { return Ok(()) };
    for (index, check) in service.checks.iter_mut().enumerate() {
        if !is_exposable(check) {
            continue;
        }
        let network = the_network(group, networks)?;
        if check.port_label.is_empty() {
            let label = format!("svc_{}_ck_{}", service.name, check_hash(&service.name, index, check));
            network.dynamic_ports.push(Port {
                label: label.clone(),
                to: -1,
                host_network: "default".into(),
                ..Port::default()
            });
            check.port_label = label;
        }
        let Some(local) = local_port(&service.port_label, network) else {
            return Err(ExposeError::ServicePort {
                group: group.to_string(),
                service: service.name.clone(),
                check: check.name.clone(),
            });
        };
        let path = ConsulExposePath {
            path: check.path.clone(),
            protocol: check.protocol.clone(),
            local_path_port: local,
            listener_port: check.port_label.clone(),
        };
        let paths = &mut sidecar.proxy.get_or_insert_default().expose.get_or_insert_default().paths;
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(())
}

fn is_exposable(check: &ServiceCheck) -> bool {
    let kind = &check.r#type;
    check.expose
        && (kind.eq_ignore_ascii_case("grpc") || kind.eq_ignore_ascii_case("http"))
        && check.path.starts_with('/')
}

/// The one network of a group with exposed checks.
fn the_network<'a>(group: &str, networks: &'a mut [NetworkResource]) -> Result<&'a mut NetworkResource, ExposeError> {
    let count = networks.len();
    let [network] = networks else {
        return Err(ExposeError::Networks { group: group.to_string(), count });
    };
    if network.mode != "bridge" && !network.mode.starts_with("cni/") {
        return Err(ExposeError::NetworkMode { group: group.to_string(), mode: network.mode.clone() });
    }
    Ok(network)
}

/// The port the service itself listens on. A dynamic port has no value before it is placed.
fn local_port(label: &str, network: &NetworkResource) -> Option<i64> {
    let mut ports = network.reserved_ports.iter().chain(&network.dynamic_ports);
    let value = ports.find(|p| p.label == label).map(|p| p.value).filter(|v| *v > 0);
    value.or_else(|| label.parse().ok().filter(|v| *v > 0))
}

/// Six hex digits that tell the checks of a service apart and stay the same for an unchanged check.
fn check_hash(service: &str, index: usize, check: &ServiceCheck) -> String {
    let flag = |set: bool| if set { "true" } else { "" };
    let threshold = |name: &str, n: i64| if n == 0 { String::new() } else { format!("{name}:{n}") };
    let mut headers: Vec<String> = check.header.iter().map(|(k, values)| format!("{k}{}", values.concat())).collect();
    headers.sort();
    let parts = [
        &format!("{service}_{index}"),
        &check.name,
        &check.r#type,
        &check.command,
        &check.args.concat(),
        &check.path,
        &check.protocol,
        &check.port_label,
        &format_duration(check.interval),
        &format_duration(check.timeout),
        &check.method,
        &check.body,
        &check.on_update,
        &check.notes,
        flag(check.tls_skip_verify),
        &check.tls_server_name,
        &headers.concat(),
        &check.address_mode,
        &check.grpc_service,
        flag(check.grpc_use_tls),
        &threshold("success", check.success_before_passing),
        &threshold("failures", check.failures_before_critical),
        &threshold("failures-before-warning", check.failures_before_warning),
    ];
    let digest = Sha256::digest(parts.concat());
    digest.iter().take(3).map(|byte| format!("{byte:02x}")).collect()
}
