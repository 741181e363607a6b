//! Whether a change of a task group needs new allocations (`docs/spec/reconciliation.md §7.1-7.3`).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use encamp_model::*;

/// Whether running allocations of the group have to be replaced to get from one version of the job to the other. What
/// is not compared here can be changed in place.
pub(crate) fn tasks_updated(old_job: &Job, new_job: &Job, group: &str) -> bool {
    let (Some(a), Some(b)) = (old_job.lookup_group(group), new_job.lookup_group(group)) else { return true };
    if a.tasks.len() != b.tasks.len()
        || a.ephemeral_disk.clone().unwrap_or_default() != b.ephemeral_disk.clone().unwrap_or_default()
        || networks_differ(&a.networks, &b.networks)
        || consul_differs(a.consul.as_ref(), b.consul.as_ref())
        || connect_differs(&a.services, &b.services)
        || volumes_differ(a, b)
        || renders_templates(a.restart_policy.as_ref()) != renders_templates(b.restart_policy.as_ref())
    {
        return true;
    }
    a.tasks.iter().any(|old| match b.tasks.iter().find(|t| t.name == old.name) {
        Some(new) => task_differs(old, new) || combined_meta(old_job, a, old) != combined_meta(new_job, b, new),
        None => true,
    })
}

fn task_differs(a: &Task, b: &Task) -> bool {
    let (empty_a, empty_b) = (Resources::default(), Resources::default());
    let (ra, rb) = (a.resources.as_ref().unwrap_or(&empty_a), b.resources.as_ref().unwrap_or(&empty_b));
    a.driver != b.driver
        || a.user != b.user
        || !maps_equal(&a.config, &b.config)
        || a.env != b.env
        || a.artifacts != b.artifacts
        || a.vault != b.vault
        || secrets_differ(&a.secrets, &b.secrets)
        || consul_differs(a.consul.as_ref(), b.consul.as_ref())
        || templates_differ(&a.templates, &b.templates)
        || a.csi_plugin_config != b.csi_plugin_config
        || a.volume_mounts != b.volume_mounts
        || a.identity != b.identity
        || a.identities != b.identities
        || logs_disabled(a) != logs_disabled(b)
        || renders_templates(a.restart_policy.as_ref()) != renders_templates(b.restart_policy.as_ref())
        || resources_differ(ra, rb)
}

fn resources_differ(a: &Resources, b: &Resources) -> bool {
    a.cpu != b.cpu
        || a.cores != b.cores
        || a.memory_mb != b.memory_mb
        || a.memory_max_mb != b.memory_max_mb
        || a.secrets_mb != b.secrets_mb
        || a.numa != b.numa
        || networks_differ(&a.networks, &b.networks)
        || devices_differ(&a.devices, &b.devices)
}

fn logs_disabled(t: &Task) -> bool {
    t.log_config.as_ref().is_some_and(|l| l.disabled)
}

fn renders_templates(r: Option<&RestartPolicy>) -> bool {
    r.is_some_and(|r| r.render_templates)
}

/// Meta of the task over the group over the job.
fn combined_meta<'a>(job: &'a Job, group: &'a TaskGroup, task: &'a Task) -> BTreeMap<&'a str, &'a str> {
    let levels = job.meta.iter().chain(&group.meta).chain(&task.meta);
    levels.map(|(k, v)| (k.as_str(), v.as_str())).collect()
}

/// Namespaces differ or, when both sides have a block, clusters or partitions do.
fn consul_differs(a: Option<&Consul>, b: Option<&Consul>) -> bool {
    let namespace = |c: Option<&Consul>| c.map_or(String::new(), |c| c.namespace.clone());
    namespace(a) != namespace(b)
        || matches!((a, b), (Some(a), Some(b)) if a.cluster != b.cluster || a.partition != b.partition)
}

/// Compares each new service that has a connect block with the first old service of its name.
fn connect_differs(old: &[Service], new: &[Service]) -> bool {
    new.iter().any(|b| {
        let Some(cb) = &b.connect else { return false };
        let Some(a) = old.iter().find(|a| a.name == b.name) else { return false };
        let Some(ca) = &a.connect else { return true };
        let sidecar_port = |c: &ConsulConnect| c.sidecar_service.as_ref().map(|s| s.port.clone());
        ca.native != cb.native
            || ca.gateway != cb.gateway
            || ca.sidecar_task != cb.sidecar_task
            || sidecar_port(ca) != sidecar_port(cb)
            || a.port_label != b.port_label
            || a.cluster != b.cluster
    })
}

fn volumes_differ(a: &TaskGroup, b: &TaskGroup) -> bool {
    let none = BTreeMap::new();
    let (a, b) = (a.volumes.as_ref().unwrap_or(&none), b.volumes.as_ref().unwrap_or(&none));
    a.len() != b.len() || a.iter().any(|(k, va)| b.get(k).is_none_or(|vb| volume_differs(va, vb)))
}

fn volume_differs(a: &VolumeRequest, b: &VolumeRequest) -> bool {
    let fs_type = |v: &VolumeRequest| v.mount_options.as_ref().map(|m| m.fs_type.clone());
    let flags = |v: &VolumeRequest| -> BTreeSet<String> {
        v.mount_options.iter().flat_map(|m| m.mount_flags.iter().cloned()).collect()
    };
    let plain = |v: &VolumeRequest| VolumeRequest { mount_options: None, ..v.clone() };
    plain(a) != plain(b) || fs_type(a) != fs_type(b) || flags(a) != flags(b)
}

fn secrets_differ(a: &[Secret], b: &[Secret]) -> bool {
    let same = |a: &Secret, b: &Secret| {
        (&a.name, &a.provider, &a.path, &a.env) == (&b.name, &b.provider, &b.path, &b.env)
            && maps_equal(&a.config, &b.config)
    };
    a.len() != b.len() || !a.iter().zip(b).all(|(a, b)| same(a, b))
}

fn templates_differ(a: &[Template], b: &[Template]) -> bool {
    // A missing argument list of a change script equals an empty one.
    let normal = |t: &Template| {
        let mut t = t.clone();
        if let Some(s) = &mut t.change_script {
            s.args.get_or_insert_default();
        }
        t
    };
    a.len() != b.len() || a.iter().zip(b).any(|(a, b)| a != b && normal(a) != normal(b))
}

/// Lengths, then network by network: mode, bandwidth, hostname, DNS, CNI arguments, ports in order. The values of
/// dynamic ports do not count.
fn networks_differ(a: &[NetworkResource], b: &[NetworkResource]) -> bool {
    a.len() != b.len() || a.iter().zip(b).any(|(a, b)| network_differs(a, b))
}

fn network_differs(a: &NetworkResource, b: &NetworkResource) -> bool {
    let cni_args = |n: &NetworkResource| n.cni.as_ref().map(|c| c.args.clone()).unwrap_or_default();
    let ports = |n: &NetworkResource| -> Vec<(String, i64, i64, String)> {
        let key = |p: &Port, value| (p.label.clone(), value, p.to, p.host_network.clone());
        let fixed = n.reserved_ports.iter().map(|p| key(p, p.value));
        fixed.chain(n.dynamic_ports.iter().map(|p| key(p, 0))).collect()
    };
    a.mode != b.mode
        || a.mbits != b.mbits
        || a.hostname != b.hostname
        || a.dns != b.dns
        || cni_args(a) != cni_args(b)
        || ports(a) != ports(b)
}

/// Requests are compared by name, whatever their order.
fn devices_differ(a: &[RequestedDevice], b: &[RequestedDevice]) -> bool {
    a.len() != b.len() || a.iter().any(|da| b.iter().find(|db| db.name == da.name).is_none_or(|db| da != db))
}

fn maps_equal(a: &BTreeMap<String, Value>, b: &BTreeMap<String, Value>) -> bool {
    a.len() == b.len() && a.iter().all(|(k, va)| b.get(k).is_some_and(|vb| values_equal(va, vb)))
}

/// Deep equality in which null, the empty list and the empty map are the same. Nesting is bounded by the JSON reader.
fn values_equal(a: &Value, b: &Value) -> bool {
    let empty = |v: &Value| match v {
        Value::Null => true,
        Value::Array(l) => l.is_empty(),
        Value::Object(m) => m.is_empty(),
        _ => false,
    };
    match (a, b) {
        (a, b) if empty(a) && empty(b) => true,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, va)| b.get(k).is_some_and(|vb| values_equal(va, vb)))
        }
        (Value::Number(a), Value::Number(b)) => a == b || (a.as_f64() == b.as_f64() && (a.is_f64() || b.is_f64())),
        (a, b) => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        let task = Task {
            name: "t".into(),
            driver: "exec".into(),
            config: BTreeMap::from([("command".to_string(), Value::from("/bin/a"))]),
            resources: Some(Resources { cpu: 500, memory_mb: 256, ..Default::default() }),
            ..Default::default()
        };
        let group = TaskGroup { name: "g".into(), count: 1, tasks: vec![task], ..Default::default() };
        Job { id: "web".into(), task_groups: vec![group], ..Default::default() }
    }

    /// Whether a change of the job is destructive.
    fn destroys(change: impl FnOnce(&mut Job)) -> bool {
        let (old, mut new) = (job(), job());
        change(&mut new);
        tasks_updated(&old, &new, "g")
    }

    fn port(label: &str, value: i64) -> Port {
        Port { label: label.into(), value, ..Default::default() }
    }

    #[test]
    fn changes_of_what_runs_are_destructive() {
        assert!(!destroys(|_| {}));
        assert!(destroys(|j| j.task_groups[0].tasks[0].driver = "docker".into()));
        assert!(destroys(|j| j.task_groups[0].tasks[0].user = "root".into()));
        assert!(destroys(|j| j.task_groups[0].tasks[0].config.extend([("x".to_string(), Value::from(1))])));
        assert!(destroys(|j| j.task_groups[0].tasks[0].resources.as_mut().unwrap().cpu = 600));
        assert!(destroys(|j| j.task_groups[0].tasks[0].templates.push(Template::default())));
        assert!(destroys(
            |j| j.task_groups[0].tasks[0].log_config = Some(LogConfig { disabled: true, ..Default::default() })
        ));
        assert!(destroys(|j| j.task_groups[0].tasks.push(Task::default())));
        assert!(destroys(
            |j| j.task_groups[0].ephemeral_disk = Some(EphemeralDisk { size_mb: 1, ..Default::default() })
        ));
        assert!(destroys(|j| j.task_groups[0].name = "other".into()));
    }

    #[test]
    fn policies_and_constraints_change_in_place() {
        assert!(!destroys(|j| {
            j.priority = 90;
            let g = &mut j.task_groups[0];
            g.count = 7;
            g.constraints.push(Constraint::default());
            g.services.push(Service { name: "s".into(), ..Default::default() });
            g.max_run_duration = Some(SECOND);
            g.restart_policy = Some(RestartPolicy { attempts: 9, ..Default::default() });
            let t = &mut g.tasks[0];
            t.kill_timeout = MINUTE;
            t.kill_signal = "SIGINT".into();
            t.leader = true;
            t.log_config = Some(LogConfig { max_files: 3, ..Default::default() });
        }));
    }

    #[test]
    fn meta_counts_only_where_it_is_seen() {
        assert!(destroys(|j| j.meta.extend([("a".to_string(), "1".to_string())])));
        let (mut old, mut new) = (job(), job());
        for (j, outer) in [(&mut old, "1"), (&mut new, "2")] {
            j.meta.insert("a".into(), outer.into());
            j.task_groups[0].tasks[0].meta.insert("a".into(), "deep".into());
        }
        assert!(!tasks_updated(&old, &new, "g"));
    }

    #[test]
    fn null_and_empty_configuration_are_equal() {
        let (mut old, mut new) = (job(), job());
        old.task_groups[0].tasks[0].config.insert("args".into(), Value::Null);
        new.task_groups[0].tasks[0].config.insert("args".into(), Value::Array(vec![]));
        assert!(!tasks_updated(&old, &new, "g"));
    }

    #[test]
    fn ports_are_compared_in_order_and_dynamic_values_ignored() {
        let network = |fixed: Vec<Port>, dynamic: Vec<Port>| NetworkResource {
            mode: "host".into(),
            reserved_ports: fixed,
            dynamic_ports: dynamic,
            ..Default::default()
        };
        let base = network(vec![port("a", 80), port("b", 81)], vec![port("c", 0)]);
        let differ = |other| networks_differ(std::slice::from_ref(&base), &[other]);
        assert!(!differ(network(vec![port("a", 80), port("b", 81)], vec![port("c", 23_456)])));
        assert!(differ(network(vec![port("b", 81), port("a", 80)], vec![port("c", 0)])));
        assert!(differ(network(vec![port("a", 80), port("b", 82)], vec![port("c", 0)])));
    }

    #[test]
    fn connect_is_compared_from_the_new_side() {
        let with = |port: &str| Service {
            name: "s".into(),
            connect: Some(ConsulConnect {
                sidecar_service: Some(ConsulSidecarService { port: port.into(), ..Default::default() }),
                ..Default::default()
            }),
            ..Default::default()
        };
        let plain = Service { name: "s".into(), ..Default::default() };
        assert!(connect_differs(&[with("a")], &[with("b")]));
        assert!(connect_differs(std::slice::from_ref(&plain), &[with("a")]));
        assert!(!connect_differs(&[with("a")], &[plain]));
        assert!(!connect_differs(&[], &[with("a")]));
    }
}
