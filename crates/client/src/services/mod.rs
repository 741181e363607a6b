//! Services of the cluster's own catalogue, and their checks (`docs/spec/client.md §16`).
//!
//! - [`checks`]: definitions and results of checks. [`run_checks`]: runs them.

pub mod checks;
pub mod run_checks;

use super::drivers::DriverNetwork;
use super::env::TaskEnv;
use encamp_model::{AllocNetworkStatus, Allocation, Node, Service, ServiceRegistration};

/// Where a service runs.
pub struct Place<'a> {
    /// Its allocation.
    pub alloc: &'a Allocation,
    /// This node.
    pub node: &'a Node,
    /// Environment of its task, or of the group.
    pub env: &'a TaskEnv,
    /// Its task; none for a service of the group.
    pub task: Option<&'a str>,
    /// The network the task's driver made.
    pub driver: Option<&'a DriverNetwork>,
    /// The addresses of the allocation; empty: it has none of its own.
    pub network: &'a AllocNetworkStatus,
}

/// A port of the allocation: address and value on the host, value inside.
struct Port {
    ip: String,
    value: i64,
    inside: i64,
}

impl Place<'_> {
    fn port(&self, label: &str) -> Option<Port> {
        let resources = self.alloc.allocated_resources.as_ref()?;
        if let Some(p) = resources.shared.ports.iter().find(|p| p.label == label) {
            let inside = if p.to > 0 { p.to } else { p.value };
            return Some(Port { ip: p.host_ip, value: p.value, inside });
        }
        let networks = resources.tasks.get(self.task?)?.networks.iter();
        let ports = networks.flat_map(|n| n.reserved_ports.iter().chain(&n.dynamic_ports).map(move |p| (n, p)));
        ports.into_iter().find(|(_, p)| p.label == label).map(|(n, p)| Port {
            ip: n.ip.clone(),
            value: p.value,
            inside: if p.to > 0 { p.to } else { p.value },
        })
    }

    /// The address of the only network.
    fn only_ip(&self) -> String {
        let resources = self.alloc.allocated_resources.as_ref();
        let own = self.task.and_then(|t| resources?.tasks.get(t)?.networks.first().map(|n| n.ip.clone()));
        own.or_else(|| resources?.shared.networks.first().map(|n| n.ip)).unwrap_or_default()
    }
}

/// Why a service or a check has no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The allocation has no port of the label.
    #[error("invalid port \"{0}\": port label not found")]
    UnknownPort(String),
    /// An address of one's own goes with the mode `auto` alone.
    #[error("cannot use custom advertise address with \"{0}\" address mode")]
    CustomAddress(String),
    /// The driver of the task has no network.
    #[error("cannot use address_mode=\"driver\": no driver network exists")]
    NoDriverNetwork,
    /// The allocation has no network of its own.
    #[error("cannot use address_mode=\"{0}\": no allocation network status reported")]
    NoAllocNetwork(String),
    /// There is no such mode.
    #[error("invalid address mode \"{0}\"")]
    UnknownMode(String),
}

/// Why a service can't be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unable to get address for service \"{service}\": {source}")]
pub struct RegistrationError {
    /// The name of the service.
    service: String,
    /// Why it has no address.
    source: AddressError,
}

/// Address and port to advertise (`docs/spec/client.md §16.2`); `label`: a port's label, a number, or nothing.
pub fn address(mode: &str, custom: &str, label: &str, place: &Place) -> Result<(String, i64), AddressError> {
    let number = label.parse::<i64>().ok().filter(|n| *n > 0);
    let unknown = || AddressError::UnknownPort(label.to_string());
    let mode = if mode.is_empty() { "auto" } else { mode };
    if !custom.is_empty() {
        if mode != "auto" {
            return Err(AddressError::CustomAddress(mode.to_string()));
        }
        let port = if label.is_empty() { Some(0) } else { place.port(label).map(|p| p.value).or(number) };
        return Ok((custom.into(), port.ok_or_else(unknown)?));
    }
    let mode = match mode {
        "auto" if place.driver.is_some_and(|d| d.advertise) => "driver",
        "auto" => "host",
        other => other,
    };
    match mode {
        "host" => match (label, place.port(label), number) {
            ("", _, _) => Ok((place.only_ip(), 0)),
            (_, Some(port), _) => Ok((port.ip, port.value)),
            (_, None, Some(number)) => Ok((String::new(), number)),
            (_, None, None) => Err(unknown()),
        },
        "driver" => {
            let driver = place.driver.ok_or(AddressError::NoDriverNetwork)?;
            let mapped = driver.ports.get(label).copied().or_else(|| place.port(label).map(|p| p.inside)).or(number);
            let port = if label.is_empty() { 0 } else { mapped.ok_or_else(unknown)? };
            Ok((driver.ip.clone(), port))
        }
        "alloc" | "alloc_ipv6" => {
            let own = if mode == "alloc" { &place.network.address } else { &place.network.address_ipv6 };
            if own.is_empty() {
                return Err(AddressError::NoAllocNetwork(mode.to_string()));
            }
            let port = place.port(label).map(|p| p.inside).or(number);
            let port = if label.is_empty() { 0 } else { port.ok_or_else(unknown)? };
            Ok((own.clone(), port))
        }
        other => Err(AddressError::UnknownMode(other.to_string())),
    }
}

/// A service as the catalogue has it; none if it belongs to another catalogue.
pub fn registration(service: &Service, place: &Place) -> Option<Result<ServiceRegistration, RegistrationError>> {
    if service.provider != "nomad" {
        return None;
    }
    let (alloc, env) = (place.alloc, place.env);
    let name = env.replace(&service.name);
    let label = env.replace(&service.port_label);
    let (address, port) = match address(&service.address_mode, &env.replace(&service.address), &label, place) {
        Ok(found) => found,
        Err(source) => return Some(Err(RegistrationError { service: name, source })),
    };
    let tags = if alloc.is_canary() && !service.canary_tags.is_empty() { &service.canary_tags } else { &service.tags };
    let workload = place.task.map_or_else(|| format!("group-{}", alloc.task_group), String::from);
    Some(Ok(ServiceRegistration {
        id: format!("_nomad-task-{}-{workload}-{name}-{label}", alloc.id),
        service_name: name,
        namespace: alloc.namespace.to_string(),
        node_id: place.node.id.clone(),
        datacenter: place.node.datacenter.clone(),
        job_id: alloc.job_id.to_string(),
        alloc_id: alloc.id.to_string(),
        tags: tags.iter().map(|t| env.replace(t)).collect(),
        address,
        port,
        ..ServiceRegistration::default()
    }))
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::*;
    use encamp_model::{AllocatedPortMapping, AllocatedResources};

    /// An allocation with the port `http`.
    pub(crate) fn alloc() -> Allocation {
        let mut resources = AllocatedResources::default();
        resources.shared.ports.push(AllocatedPortMapping {
            label: "http".into(),
            value: 22_503,
            to: 80,
            host_ip: "127.0.0.1".into(),
            ..AllocatedPortMapping::default()
        });
        Allocation {
            id: "3beb069b".into(),
            name: "web.web[0]".into(),
            job_id: "web".into(),
            task_group: "web".into(),
            namespace: "default".into(),
            allocated_resources: Some(Arc::new(resources)),
            ..Allocation::default()
        }
    }

    #[test]
    fn services_as_the_reference_registers_them() {
        let (alloc, node, env) = (alloc(), Node { id: "n".into(), ..Node::default() }, TaskEnv::default());
        let own = AllocNetworkStatus::default();
        let place = Place { alloc: &alloc, node: &node, env: &env, task: None, driver: None, network: &own };
        let mut service = Service {
            name: "web-svc".into(),
            port_label: "http".into(),
            provider: "nomad".into(),
            tags: vec!["a".into()],
            ..Service::default()
        };
        let got = registration(&service, &place).unwrap().unwrap();
        assert_eq!(got.id, "_nomad-task-3beb069b-group-web-web-svc-http");
        assert_eq!((got.address.as_str(), got.port, got.tags), ("127.0.0.1", 22_503, vec!["a".to_string()]));
        let got = registration(&service, &Place { task: Some("main"), ..place }).unwrap().unwrap();
        assert_eq!(got.id, "_nomad-task-3beb069b-main-web-svc-http");
        service.provider = "consul".into();
        assert!(registration(&service, &place).is_none());
    }

    #[test]
    fn modes() {
        let (alloc, node, env) = (alloc(), Node::default(), TaskEnv::default());
        let own = AllocNetworkStatus::default();
        let network = DriverNetwork { ip: "10.0.0.9".into(), advertise: true, ports: [("x".to_string(), 7)].into() };
        let with = |driver| Place { alloc: &alloc, node: &node, env: &env, task: None, driver, network: &own };
        let ok = |ip: &str, port| Ok((ip.to_string(), port));
        assert_eq!(address("", "", "http", &with(Some(&network))), ok("10.0.0.9", 80));
        assert_eq!(address("driver", "", "x", &with(Some(&network))), ok("10.0.0.9", 7));
        assert_eq!(address("auto", "svc.example", "http", &with(None)), ok("svc.example", 22_503));
        assert_eq!(address("host", "", "8080", &with(None)), ok("", 8080));
        assert!(
            address("host", "x", "http", &with(None)).unwrap_err().to_string().contains("custom advertise address")
        );
        assert!(
            address("host", "", "nope", &with(None)).is_err() && address("alloc", "", "http", &with(None)).is_err()
        );
        let addresses = AllocNetworkStatus {
            interface_name: "eth0".into(),
            address: "172.26.64.2".into(),
            address_ipv6: "fd00::2".into(),
            dns: None,
        };
        let place = Place { network: &addresses, ..with(None) };
        assert_eq!(address("alloc", "", "http", &place), ok("172.26.64.2", 80));
        assert_eq!(address("alloc_ipv6", "", "http", &place), ok("fd00::2", 80));
        assert_eq!(address("alloc", "", "9000", &place), ok("172.26.64.2", 9000));
        assert_eq!(address("alloc", "", "", &place), ok("172.26.64.2", 0));
        assert!(address("alloc", "", "nope", &place).is_err());
    }
}
