//! A job and its groups, prepared for evaluating many nodes: constraints compiled, requested resources summed.

use std::sync::Arc;

use super::devices::DeviceAsk;
use super::feasible::Constraints;
use super::network;
use crate::constraint::{Check, escapes};
use encamp_model::*;
use encamp_state::{AllocUsage, DEFAULT_NETWORK, NodeIndex};

/// The requested resources of one task.
#[derive(Debug, Clone)]
pub struct TaskAsk {
    /// The task.
    pub name: String,
    /// MHz, unless cores are asked for.
    pub cpu: i64,
    /// Number of cores.
    pub cores: usize,
    /// MB, secrets included.
    pub memory: i64,
    /// MB, -1 for no limit, 0 for none.
    pub memory_max: i64,
    /// The first task network, if any.
    pub network: Option<NetworkResource>,
    /// Device requests in order.
    pub devices: Vec<DeviceAsk>,
}

/// A weighted condition.
#[derive(Debug, Clone)]
pub struct WeightedCheck {
    /// The condition.
    pub check: Check,
    /// -100..100.
    pub weight: f64,
}

/// One group, prepared.
#[derive(Debug, Clone)]
pub struct CompiledGroup {
    /// Its name.
    pub name: String,
    /// Its count, for anti-affinity and limits.
    pub count: i64,
    /// Drivers of all tasks.
    pub drivers: Vec<String>,
    /// Device requests of all tasks.
    pub devices: Vec<DeviceAsk>,
    /// Attributes that secrets providers need.
    pub secrets: Vec<String>,
    /// Tasks in order.
    pub tasks: Vec<TaskAsk>,
    /// The first group network.
    pub network: Option<NetworkResource>,
    /// Affinities of job, group and tasks.
    pub affinities: Vec<WeightedCheck>,
    /// No affinity depends on more than the computed class.
    pub affinities_by_class: bool,
    /// Sum of the absolute weights of the affinities.
    pub affinity_weight: f64,
    /// A constraint depends on more than the computed class, or a CSI volume is asked for.
    pub escaped: bool,
    /// `distinct_hosts` of the group itself.
    pub distinct_hosts: bool,
    /// The resources of every placement if no ports, devices or cores are requested.
    pub template: Arc<AllocatedResources>,
    /// The template flattened.
    pub usage: AllocUsage,
    /// Whether the template is all there is to give.
    pub simple: bool,
    /// The host networks of the ports if ports of the group network are all there is to give besides the template and
    /// the host networks are the same on every node: then ports can wait until a node is chosen.
    pub late_hosts: Option<Vec<String>>,
    /// How many ports these are, if all of them are dynamic ports of the network `default`, as is usual.
    pub late_default: Option<usize>,
}

/// The constraints of a group, then those of each task.
pub(crate) fn constraints(group: &TaskGroup, index: &NodeIndex) -> Constraints {
    let all = group.constraints.iter().chain(group.tasks.iter().flat_map(|t| &t.constraints));
    Constraints::new(all.map(Check::from), index)
}

/// Whether the first `distinct_hosts` among the constraints is in force.
pub(crate) fn distinct_hosts(constraints: &[Constraint]) -> bool {
    let c = constraints.iter().find(|c| c.operand == "distinct_hosts");
    c.is_some_and(|c| !matches!(c.rtarget.as_str(), "0" | "f" | "F" | "false" | "FALSE" | "False"))
}

/// Whether a group depends on more than computed classes: by a constraint of its own or of a task, or because it asks
/// for a CSI volume.
pub(crate) fn escaped(group: &TaskGroup) -> bool {
    let mut constraints = group.constraints.iter().chain(group.tasks.iter().flat_map(|t| &t.constraints));
    constraints.any(|c| escapes(&c.ltarget) || escapes(&c.rtarget))
        || group.volumes.iter().flatten().any(|(_, v)| v.r#type == "csi")
}

impl CompiledGroup {
    /// Prepares a group of a job.
    pub fn new(job: &Job, group: &TaskGroup, oversubscription: bool) -> CompiledGroup {
        let affinities = job.affinities.iter().chain(&group.affinities);
        let affinities: Vec<WeightedCheck> = affinities
            .chain(group.tasks.iter().flat_map(|t| &t.affinities))
            .map(|a| WeightedCheck { check: Check::from(a), weight: a.weight as f64 })
            .collect();
        let mut drivers: Vec<String> = group.tasks.iter().map(|t| t.driver.clone()).collect();
        drivers.sort();
        drivers.dedup();
        let tasks: Vec<TaskAsk> = group.tasks.iter().map(|t| TaskAsk::new(t, oversubscription)).collect();
        let disk = group.ephemeral_disk.as_ref().map_or(0, |d| d.size_mb);
        let template = template(group, &tasks, disk);
        let only_group_network = tasks.iter().all(|t| t.cores == 0 && t.network.is_none() && t.devices.is_empty());
        let secrets = group.tasks.iter().flat_map(|t| &t.secrets);
        let network = group.networks.first();
        let late_hosts = network.filter(|_| only_group_network).and_then(network::fixed_hosts);
        let usual = |hosts: &&Vec<String>| {
            network.is_some_and(|n| n.reserved_ports.is_empty()) && hosts.iter().all(|h| h == DEFAULT_NETWORK)
        };
        CompiledGroup {
            name: group.name.clone(),
            count: group.count,
            drivers,
            escaped: escaped(group),
            devices: tasks.iter().flat_map(|t| t.devices.clone()).collect(),
            secrets: secrets.map(|s| format!("plugins.secrets.{}.version", s.provider)).collect(),
            network: network.cloned(),
            affinities_by_class: !affinities.iter().any(|a| a.check.escaped),
            affinity_weight: affinities.iter().map(|a| a.weight.abs()).sum(),
            affinities,
            distinct_hosts: distinct_hosts(&group.constraints),
            usage: AllocUsage::new(&template),
            template: Arc::new(template),
            simple: group.networks.is_empty() && only_group_network,
            late_default: late_hosts.as_ref().filter(usual).map(Vec::len),
            late_hosts,
            tasks,
        }
    }
}

impl TaskAsk {
    fn new(t: &Task, oversubscription: bool) -> TaskAsk {
        let r = t.resources.clone().unwrap_or_default();
        let memory_max = match r.memory_max_mb {
            _ if !oversubscription => 0,
            m if m > 0 => m.saturating_add(r.secrets_mb),
            m => m,
        };
        TaskAsk {
            name: t.name.clone(),
            cpu: r.cpu,
            cores: usize::try_from(r.cores).unwrap_or(0),
            memory: r.memory_mb.saturating_add(r.secrets_mb),
            memory_max,
            network: r.networks.into_iter().next(),
            devices: r.devices.iter().map(DeviceAsk::from).collect(),
        }
    }
}

fn template(group: &TaskGroup, tasks: &[TaskAsk], disk: i64) -> AllocatedResources {
    let task = |t: &TaskAsk| AllocatedTaskResources {
        cpu: AllocatedCpuResources { cpu_shares: t.cpu, reserved_cores: Vec::new() },
        memory: AllocatedMemoryResources { memory_mb: t.memory, memory_max_mb: t.memory_max },
        ..Default::default()
    };
    AllocatedResources {
        tasks: tasks.iter().map(|t| (t.name.clone(), task(t))).collect(),
        task_lifecycles: group.tasks.iter().map(|t| (t.name.clone(), t.lifecycle.clone())).collect(),
        shared: AllocatedSharedResources { disk_mb: disk, ..Default::default() },
    }
}
