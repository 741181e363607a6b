//! Networks and ports of a group and its tasks (`docs/spec/jobspec.md §14.10`).

use std::collections::{BTreeMap, BTreeSet};

use super::errors::Errors;
use encamp_model::quoted;
use encamp_model::{NetworkResource, Port, TaskGroup};

const MAX_PORT: i64 = 65535;

/// Static ports in use: per host network, the owner of each.
#[derive(Default)]
struct StaticPorts<'a>(BTreeMap<(&'a str, i64), String>);

impl<'a> StaticPorts<'a> {
    /// Takes a port for `owner:label`; the text when it is taken already or no port.
    fn claim(&mut self, errors: &mut Errors, port: &'a Port, owner: &str) {
        let host_network = if port.host_network.is_empty() { "default" } else { &port.host_network };
        match self.0.get(&(host_network, port.value)) {
            Some(other) => errors
                .add_if(!port.ignore_collision, format_args!("Static port {} already reserved by {other}", port.value)),
            None => {
                self.0.insert((host_network, port.value), format!("{owner}:{}", port.label));
            }
        }
        errors.add_if(
            port.value > MAX_PORT,
            format_args!("Port {} ({}) cannot be greater than {MAX_PORT}", port.label, port.value),
        );
    }
}

/// Static ports first.
fn ports(network: &NetworkResource) -> impl Iterator<Item = &Port> {
    network.reserved_ports.iter().chain(&network.dynamic_ports)
}

pub(super) fn networks(group: &TaskGroup) -> Vec<String> {
    let mut errors = Errors::default();
    let mut labels = BTreeSet::new();
    let mut taken = StaticPorts::default();
    let mut cni_args = BTreeSet::new();
    for network in &group.networks {
        for port in ports(network) {
            let label = quoted(&port.label);
            errors.add_if(
                !labels.insert(&port.label),
                format_args!("Port label {} already in use by taskgroup network", port.label),
            );
            if port.value != 0 {
                taken.claim(&mut errors, port, "taskgroup network");
            }
            errors.add_if(port.to < -1, format_args!("Port {label} cannot be mapped to negative value {}", port.to));
            errors.add_if(
                port.to > MAX_PORT,
                format_args!("Port {label} cannot be mapped to a port ({}) greater than {MAX_PORT}", port.to),
            );
            errors.add_if(
                port.ignore_collision && !matches!(network.mode.as_str(), "" | "host"),
                format_args!(
                    "Port {label} collision may not be ignored on non-host network mode {}",
                    quoted(&network.mode)
                ),
            );
        }
        for (key, value) in network.cni.iter().flat_map(|c| &c.args) {
            errors.add_if(!cni_args.insert(key), format_args!("duplicate CNI arg {}", quoted(key)));
            for (what, text) in [("key", key), ("value", value)] {
                errors.add_if(
                    text.contains(';'),
                    format_args!("invalid ';' character in CNI arg {what} {}", quoted(text)),
                );
            }
        }
        let hostname = &network.hostname;
        errors.add_if(
            !hostname.is_empty() && !hostname.contains("${") && !is_domain_name(hostname),
            "Hostname is not a valid DNS name",
        );
    }
    for task in &group.tasks {
        for port in task.resources.iter().flat_map(|r| &r.networks).flat_map(ports) {
            errors.add_if(
                labels.contains(&port.label),
                format_args!("Port label {} already in use by taskgroup network", port.label),
            );
            if port.value != 0 {
                taken.claim(&mut errors, port, &task.name);
            }
        }
    }
    errors.into_items()
}

/// Whether the domain name system can carry a name: labels of 1 to 63 octets, 255 in all, perhaps a dot at the end. Any
/// octet is fine in a label.
fn is_domain_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    // On the wire every label has a length octet, and the root is one more.
    name.len() + 2 <= 255 && name.split('.').all(|label| (1..=63).contains(&label.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{CniConfig, Resources, Task};

    fn port(label: &str, value: i64) -> Port {
        Port { label: label.into(), value, ..Port::default() }
    }

    fn group(networks: Vec<NetworkResource>) -> TaskGroup {
        TaskGroup { networks, ..TaskGroup::default() }
    }

    #[test]
    fn port_texts() {
        let bridge = NetworkResource {
            mode: "bridge".into(),
            reserved_ports: vec![
                port("a", 80),
                port("b", 80),
                Port { host_network: "lan".into(), ..port("c", 80) },
                Port { host_network: "default".into(), ..port("d", 80) },
                port("big", 70000),
                Port { ignore_collision: true, ..port("ign", 80) },
            ],
            dynamic_ports: vec![
                port("a", 0),
                Port { to: -2, ..port("neg", 0) },
                Port { to: -1, ..port("same", 0) },
                Port { to: 65536, ..port("far", 0) },
            ],
            ..NetworkResource::default()
        };
        assert_eq!(
            networks(&group(vec![bridge])),
            [
                "Static port 80 already reserved by taskgroup network:a",
                "Static port 80 already reserved by taskgroup network:a",
                "Port big (70000) cannot be greater than 65535",
                "Port \"ign\" collision may not be ignored on non-host network mode \"bridge\"",
                "Port label a already in use by taskgroup network",
                "Port \"neg\" cannot be mapped to negative value -2",
                "Port \"far\" cannot be mapped to a port (65536) greater than 65535",
            ]
        );
        let host = NetworkResource {
            reserved_ports: vec![port("a", 80), Port { ignore_collision: true, ..port("b", 80) }],
            ..NetworkResource::default()
        };
        assert!(networks(&group(vec![host])).is_empty());
    }

    #[test]
    fn task_ports_share_the_group_s_labels_and_static_ports() {
        let with = |name: &str, ports: Vec<Port>| Task {
            name: name.into(),
            resources: Some(Resources {
                networks: vec![NetworkResource { reserved_ports: ports, ..NetworkResource::default() }],
                ..Resources::default()
            }),
            ..Task::default()
        };
        let mut g = group(vec![NetworkResource { reserved_ports: vec![port("a", 80)], ..NetworkResource::default() }]);
        g.tasks = vec![
            with("t", vec![port("a", 81), port("b", 80), port("c", 82), port("any", 0)]),
            with("u", vec![port("b", 82), port("big", 70000), port("any", 0)]),
        ];
        assert_eq!(
            networks(&g),
            [
                "Port label a already in use by taskgroup network",
                "Static port 80 already reserved by taskgroup network:a",
                "Static port 82 already reserved by t:c",
                "Port big (70000) cannot be greater than 65535",
            ]
        );
    }

    #[test]
    fn cni_args_and_hostnames() {
        let cni = |key: &str, value: &str| NetworkResource {
            cni: Some(CniConfig { args: [(key.to_string(), value.to_string())].into() }),
            ..NetworkResource::default()
        };
        assert_eq!(
            networks(&group(vec![cni("a;b", "c;d"), cni("k", "v"), cni("k", "w")])),
            [
                "invalid ';' character in CNI arg key \"a;b\"",
                "invalid ';' character in CNI arg value \"c;d\"",
                "duplicate CNI arg \"k\"",
            ]
        );
        let hostname =
            |h: &str| networks(&group(vec![NetworkResource { hostname: h.into(), ..NetworkResource::default() }]));
        for good in ["", "web", "web-1.example.com.", "x_y", "${NOMAD_ALLOC_INDEX}..x"] {
            assert!(hostname(good).is_empty(), "{good}");
        }
        for bad in ["a..b", ".", &"x".repeat(64), &"abc.".repeat(64)] {
            assert_eq!(hostname(bad), ["Hostname is not a valid DNS name"], "{bad}");
        }
    }
}
