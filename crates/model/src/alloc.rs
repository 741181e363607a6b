//! Allocations: instances of a task group on a node.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thin_vec::ThinVec;

use super::group::*;
use super::job::*;
use super::json::{is_default, narrow, narrow_list, nil, null_is_default};
use super::modes::TaskEventType;
use super::packed::{PackedList, PackedMetric, TaskEvents, TaskStates};
use super::recent;
use super::resources::*;
use super::scores::Scores;
use super::shared::Shared;
use super::sorted_map::SortedMap;
use super::status::{ClientStatus, DesiredStatus, JobType, LifecycleHook, TaskStatus};
use super::text::{Text, UniqueText};
use super::time::Time;

/// One task group instance placed on a node.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Allocation {
    /// A UUID.
    #[serde(rename = "ID", skip_serializing_if = "is_default")]
    pub id: UniqueText,
    /// The namespace of the job.
    #[serde(skip_serializing_if = "is_default")]
    pub namespace: Text,
    /// The evaluation that last placed or changed it.
    #[serde(rename = "EvalID", skip_serializing_if = "is_default")]
    pub eval_id: Text,
    /// `<job>.<group>[<index>]`: the job's ID; for system and sysbatch jobs its name.
    #[serde(skip_serializing_if = "is_default")]
    pub name: UniqueText,
    /// The node it is placed on.
    #[serde(rename = "NodeID", skip_serializing_if = "is_default")]
    pub node_id: Text,
    /// The name of that node.
    #[serde(skip_serializing_if = "is_default")]
    pub node_name: Text,
    /// The job's ID.
    #[serde(rename = "JobID", skip_serializing_if = "is_default")]
    pub job_id: Text,
    /// The version of the job it was placed with; absent in lists and in plans that carry the job once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<Arc<Job>>,
    /// Version of the job the allocation was placed with, where a file leaves the job itself out.
    #[serde(rename = "JobVersion", skip_serializing_if = "Option::is_none")]
    pub stored_job_version: Option<u64>,
    /// Position of the job in a list of jobs that a file holds beside its allocations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_ref: Option<u32>,
    /// The name of the task group.
    #[serde(skip_serializing_if = "is_default")]
    pub task_group: Text,
    /// Legacy form of `allocated_resources`: the sum over tasks and group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Box<Resources>>,
    /// Legacy form of the group's part of `allocated_resources`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_resources: Option<Box<Resources>>,
    /// Legacy form of the tasks' part of `allocated_resources`, by task.
    #[serde(skip_serializing_if = "is_default")]
    pub task_resources: SortedMap<Resources>,
    /// The assigned resources.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "recent::resources")]
    pub allocated_resources: Option<Arc<AllocatedResources>>,
    /// The metrics of the node search of the placement (`docs/spec/scheduling.md §10`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<PackedMetric>,
    /// The desired status: `run`, `stop` or `evict`.
    #[serde(skip_serializing_if = "is_default")]
    pub desired_status: DesiredStatus,
    /// Why the desired status is what it is (`docs/spec/reconciliation.md §2.8`).
    #[serde(skip_serializing_if = "is_default")]
    pub desired_description: Text,
    /// The desired transition.
    #[serde(skip_serializing_if = "is_default")]
    pub desired_transition: DesiredTransition,
    /// The client status: `pending`, `running`, `complete`, `failed`, `lost` or `unknown`.
    #[serde(skip_serializing_if = "is_default")]
    pub client_status: ClientStatus,
    /// Why the client status is what it is.
    #[serde(skip_serializing_if = "is_default")]
    pub client_description: Text,
    /// By task; as the node reports them.
    #[serde(skip_serializing_if = "is_default")]
    pub task_states: TaskStates,
    /// Changes of the client status that servers made, the oldest first.
    #[serde(skip_serializing_if = "is_default")]
    pub alloc_states: ThinVec<AllocState>,
    /// The ID of the allocation it replaces; empty: none.
    #[serde(skip_serializing_if = "is_default")]
    pub previous_allocation: Text,
    /// The ID of the allocation that replaces it; empty: none.
    #[serde(skip_serializing_if = "is_default")]
    pub next_allocation: Text,
    /// The deployment it was placed or updated by; empty: none.
    #[serde(rename = "DeploymentID", skip_serializing_if = "is_default")]
    pub deployment_id: Text,
    /// Its health in its deployment; null: not known yet, and no canary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment_status: Option<Box<AllocDeploymentStatus>>,
    /// Its earlier, failed instances; null: it never was rescheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reschedule_tracker: Option<Box<RescheduleTracker>>,
    /// The network of the group on the node, as the node reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_status: Option<Box<AllocNetworkStatus>>,
    /// The delayed evaluation that will look at it again; empty: none.
    #[serde(rename = "FollowupEvalID", skip_serializing_if = "is_default")]
    pub followup_eval_id: Text,
    /// IDs of the allocations that were evicted for it.
    #[serde(skip_serializing_if = "is_default")]
    pub preempted_allocations: ThinVec<Text>,
    /// The ID of the allocation it was evicted for; empty: none.
    #[serde(skip_serializing_if = "is_default")]
    pub preempted_by_allocation: Text,
    /// The root key that signed its identities.
    #[serde(rename = "SigningKeyID", skip_serializing_if = "is_default")]
    pub signing_key_id: Text,
    /// Raft index of the write that created the object.
    #[serde(skip_serializing_if = "is_default")]
    pub create_index: u64,
    /// Raft index of the last write to the object.
    #[serde(skip_serializing_if = "is_default")]
    pub modify_index: u64,
    /// Raft index of the last write by servers; nodes fetch the allocation when it grows.
    #[serde(skip_serializing_if = "is_default")]
    pub alloc_modify_index: u64,
    /// Unix nanoseconds.
    #[serde(skip_serializing_if = "is_default")]
    pub create_time: i64,
    /// Unix nanoseconds.
    #[serde(skip_serializing_if = "is_default")]
    pub modify_time: i64,
}

/// An allocation as list endpoints and plan annotations show it.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocListStub {
    /// A UUID.
    #[serde(rename = "ID")]
    pub id: UniqueText,
    /// The evaluation that last placed or changed it.
    #[serde(rename = "EvalID")]
    pub eval_id: Text,
    /// `<job>.<group>[<index>]`: the job's ID; for system and sysbatch jobs its name.
    pub name: UniqueText,
    /// The namespace of the job.
    pub namespace: Text,
    /// The node it is placed on.
    #[serde(rename = "NodeID")]
    pub node_id: Text,
    /// The name of that node.
    pub node_name: Text,
    /// The job's ID.
    #[serde(rename = "JobID")]
    pub job_id: Text,
    /// `service`, `batch`, `system` or `sysbatch`.
    pub job_type: JobType,
    /// The version of the job it was placed with.
    pub job_version: u64,
    /// The name of the task group.
    pub task_group: Text,
    /// The assigned resources; only if requested.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "recent::resources")]
    pub allocated_resources: Option<Arc<AllocatedResources>>,
    /// The desired status: `run`, `stop` or `evict`.
    pub desired_status: DesiredStatus,
    /// Why the desired status is what it is (`docs/spec/reconciliation.md §2.8`).
    pub desired_description: Text,
    /// The client status: `pending`, `running`, `complete`, `failed`, `lost` or `unknown`.
    pub client_status: ClientStatus,
    /// Why the client status is what it is.
    pub client_description: Text,
    /// The desired transition.
    pub desired_transition: DesiredTransition,
    /// By task; null if the request left them out.
    #[serde(with = "nil")]
    pub task_states: TaskStates,
    /// Its health in its deployment; null: not known yet, and no canary.
    pub deployment_status: Option<Box<AllocDeploymentStatus>>,
    /// The delayed evaluation that will look at it again; empty: none.
    #[serde(rename = "FollowupEvalID")]
    pub followup_eval_id: Text,
    /// The ID of the allocation that replaces it; empty: none.
    pub next_allocation: Text,
    /// Its earlier, failed instances; null: it never was rescheduled.
    pub reschedule_tracker: Option<Box<RescheduleTracker>>,
    /// IDs of the allocations that were evicted for it.
    #[serde(with = "nil")]
    pub preempted_allocations: ThinVec<Text>,
    /// The ID of the allocation it was evicted for; empty: none.
    pub preempted_by_allocation: Text,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Unix nanoseconds.
    pub create_time: i64,
    /// Unix nanoseconds.
    pub modify_time: i64,
}

/// The assigned resources of an allocation: per task and shared. Tasks without a lifecycle have a null one.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedResources {
    /// By task.
    #[serde(serialize_with = "nil::serialize", deserialize_with = "recent::tasks")]
    pub tasks: Shared<SortedMap<AllocatedTaskResources>>,
    /// The `lifecycle` block of each task, by task.
    #[serde(serialize_with = "nil::serialize", deserialize_with = "recent::lifecycles")]
    pub task_lifecycles: Shared<SortedMap<Option<TaskLifecycleConfig>>>,
    /// Shared resources of the tasks.
    pub shared: AllocatedSharedResources,
}

impl AllocatedResources {
    /// Hook of a task's lifecycle and whether it is a sidecar; `None` for a main task.
    pub fn lifecycle(&self, task: &str) -> Option<(&LifecycleHook, bool)> {
        self.task_lifecycles.get(task)?.as_ref().map(|l| (&l.hook, l.sidecar))
    }

    /// Gives the tasks the networks and devices that they had. What does not change stays shared.
    pub fn keep_places(&mut self, old: &AllocatedResources) {
        self.keep(
            old,
            |new, old| new.networks == old.networks && new.devices == old.devices,
            |new, old| {
                new.networks.clone_from(&old.networks);
                new.devices.clone_from(&old.devices);
            },
        );
    }

    /// Gives the tasks the cores that they had. What does not change stays shared.
    pub fn keep_cores(&mut self, old: &AllocatedResources) {
        self.keep(
            old,
            |new, old| new.cpu.reserved_cores == old.cpu.reserved_cores,
            |new, old| {
                new.cpu.reserved_cores.clone_from(&old.cpu.reserved_cores);
            },
        );
    }

    /// Changes the tasks that have something else than before.
    fn keep(
        &mut self,
        old: &AllocatedResources,
        same: impl Fn(&AllocatedTaskResources, &AllocatedTaskResources) -> bool,
        change: impl Fn(&mut AllocatedTaskResources, &AllocatedTaskResources),
    ) {
        let differs =
            |(name, new): (&String, &AllocatedTaskResources)| old.tasks.get(name).is_some_and(|old| !same(new, old));
        if self.tasks.iter().any(differs) {
            for (name, new) in self.tasks.iter_mut() {
                if let Some(old) = old.tasks.get(name) {
                    change(new, old);
                }
            }
        }
    }
}

/// The metrics of one node search: which nodes were evaluated, filtered, exhausted and scored
/// (`docs/spec/scheduling.md §10`).
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocMetric {
    /// Nodes that were evaluated.
    pub nodes_evaluated: i64,
    /// Nodes that failed a feasibility check.
    pub nodes_filtered: i64,
    /// Ready nodes in the job's pool and datacenters.
    pub nodes_in_pool: i64,
    /// The job's node pool.
    pub node_pool: String,
    /// Ready nodes per datacenter; shared by all placements of one evaluation.
    pub nodes_available: Option<Arc<SortedMap<i64>>>,
    /// Filtered nodes, by node class.
    #[serde(with = "nil")]
    pub class_filtered: BTreeMap<String, i64>,
    /// Filtered nodes, by the constraint or check that they failed.
    #[serde(with = "nil")]
    pub constraint_filtered: BTreeMap<String, i64>,
    /// Nodes that lack resources.
    pub nodes_exhausted: i64,
    /// Exhausted nodes, by node class.
    #[serde(with = "nil")]
    pub class_exhausted: BTreeMap<String, i64>,
    /// Exhausted nodes, by what they lack: `memory`, `network: port collision`, …
    #[serde(with = "nil")]
    pub dimension_exhausted: BTreeMap<String, i64>,
    /// Always null: quotas belong to the enterprise edition.
    #[serde(with = "nil")]
    pub quota_exhausted: Vec<String>,
    /// CPU and memory that could not be placed, by task; after failures only.
    #[serde(with = "nil")]
    pub resources_exhausted: BTreeMap<String, Resources>,
    /// Deprecated, null: `score_meta_data` takes its place.
    #[serde(with = "nil")]
    pub scores: BTreeMap<String, f64>,
    /// The scores of the best five nodes, the best first.
    #[serde(with = "nil")]
    pub score_meta_data: Vec<NodeScoreMeta>,
    /// Nanoseconds that the search took.
    pub allocation_time: i64,
    /// Further failed placements of the group that this record stands for.
    pub coalesced_failures: i64,
}

/// The `DesiredTransition` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DesiredTransition {
    /// Move it off its node.
    pub migrate: Option<bool>,
    /// Replace it elsewhere: it is unhealthy, or an operator stopped it with `-reschedule`.
    pub reschedule: Option<bool>,
    /// Replace it although it failed and its reschedule attempts are used up.
    pub force_reschedule: Option<bool>,
    /// Stop it without waiting for `shutdown_delay`.
    pub no_shutdown_delay: Option<bool>,
    /// Stop it without a replacement: a batch allocation on a draining node.
    pub migrate_disable_placement: Option<bool>,
}

/// The `TaskState` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskState {
    /// `pending`, `running` or `dead`.
    pub state: TaskStatus,
    /// Whether an event failed the task.
    pub failed: bool,
    /// How often the task was restarted.
    pub restarts: u64,
    /// When the task was last restarted; null: never.
    pub last_restart: Time,
    /// When the task last began to run; null: never.
    pub started_at: Time,
    /// When the task ended for good; null: it has not.
    pub finished_at: Time,
    /// The last ten events, the oldest first.
    #[serde(with = "nil")]
    pub events: TaskEvents,
    /// State of a task schedule; empty: task schedules belong to the enterprise edition.
    pub paused: String,
}

/// The `AllocState` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocState {
    /// The kind of change: 0, the client status.
    #[serde(deserialize_with = "narrow::<u8, _, _>")]
    pub field: u64,
    /// The new value.
    pub value: ClientStatus,
    /// When it changed.
    pub time: Time,
}

/// The `AllocDeploymentStatus` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocDeploymentStatus {
    /// Whether the node found it healthy; null: not decided yet.
    pub healthy: Option<bool>,
    /// When its health was decided.
    pub timestamp: Time,
    /// Whether it is a canary that was not promoted.
    pub canary: bool,
    /// Raft index of the last change of its health.
    pub modify_index: u64,
}

/// The chain of earlier failed instances; null and empty `events` differ (`docs/spec/reconciliation.md §6.3`).
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RescheduleTracker {
    /// One entry per earlier instance, the oldest first.
    pub events: Option<Vec<RescheduleEvent>>,
    /// Result of the last attempt: `ok`, or why the allocation could not be rescheduled.
    pub last_reschedule: Text,
}

/// The `AllocNetworkStatus` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocNetworkStatus {
    /// The interface inside of the network namespace.
    pub interface_name: String,
    /// The IPv4 address inside of the network namespace.
    pub address: String,
    /// The IPv6 address inside of the network namespace.
    #[serde(rename = "AddressIPv6")]
    pub address_ipv6: String,
    /// The DNS settings that the network plugin chose; null: none.
    #[serde(rename = "DNS")]
    pub dns: Option<DnsConfig>,
}

/// The `AllocatedTaskResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedTaskResources {
    /// MHz and reserved cores.
    pub cpu: AllocatedCpuResources,
    /// MB.
    pub memory: AllocatedMemoryResources,
    /// Networks of the task's own, deprecated: jobs have them in the group.
    #[serde(with = "nil")]
    pub networks: Vec<NetworkResource>,
    /// The device instances of the task.
    #[serde(with = "nil")]
    pub devices: Vec<AllocatedDeviceResource>,
}

/// The `AllocatedSharedResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedSharedResources {
    /// The network of the group, at most one.
    #[serde(with = "nil")]
    pub networks: PackedList<NetworkResource>,
    /// The ephemeral disk, in MB.
    #[serde(rename = "DiskMB")]
    pub disk_mb: i64,
    /// All ports of the group's network, with their numbers.
    #[serde(with = "nil")]
    pub ports: PackedList<AllocatedPortMapping>,
}

/// The scores of one candidate node.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeScoreMeta {
    /// The node.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// By scorer: `binpack`, `node-affinity`, … (`docs/spec/scheduling.md §10`).
    pub scores: Scores,
    /// The final score: the mean of the scores that count.
    pub norm_score: f64,
}

/// The `TaskEvent` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskEvent {
    /// `Received`, `Started`, `Terminated`, … (`docs/spec/client.md §28`).
    pub r#type: TaskEventType,
    /// Unix nanoseconds.
    pub time: i64,
    /// The text of events that have one of their own.
    pub message: String,
    /// The sentence for operators, fixed when the event is appended.
    pub display_message: String,
    /// The particulars of the event, as text: `exit_code`, `restart_reason`, …
    #[serde(with = "nil")]
    pub details: BTreeMap<String, String>,
    /// Whether the event makes the task a failed one.
    pub fails_task: bool,
    /// `Restarting`, `Not Restarting`, `Restart Signaled`: why.
    pub restart_reason: String,
    /// `Setup Failure`: what failed.
    pub setup_error: String,
    /// `Driver Failure`: what the driver says.
    pub driver_error: String,
    /// `Terminated`: the exit code.
    pub exit_code: i64,
    /// `Terminated`: the signal that ended the task; 0: none.
    pub signal: i64,
    /// `Killing`: nanoseconds between the signal and the forced kill.
    pub kill_timeout: i64,
    /// `Killed`: what went wrong.
    pub kill_error: String,
    /// `Killing`: why, where the reason is not the task's.
    pub kill_reason: String,
    /// `Restarting`: nanoseconds until the task starts again.
    pub start_delay: i64,
    /// `Failed Artifact Download`: what failed.
    pub download_error: String,
    /// `Failed Validation`: what is not valid.
    pub validation_error: String,
    /// `Disk Resources Exceeded`: the limit in bytes.
    pub disk_limit: i64,
    /// `Sibling Task Failed`: the task that failed.
    pub failed_sibling: String,
    /// The error of Vault.
    pub vault_error: String,
    /// `Signaling`: why.
    pub task_signal_reason: String,
    /// `Signaling`: the name of the signal.
    pub task_signal: String,
    /// `Driver`: what the driver says.
    pub driver_message: String,
    /// Which part of the agent made an event of no particular type.
    pub generic_source: String,
}

/// The `RescheduleEvent` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RescheduleEvent {
    /// When the replacement was placed, in Unix nanoseconds.
    pub reschedule_time: i64,
    /// The allocation that was replaced.
    #[serde(rename = "PrevAllocID")]
    pub prev_alloc_id: Text,
    /// The node of that allocation.
    #[serde(rename = "PrevNodeID")]
    pub prev_node_id: Text,
    /// Nanoseconds between the failure and the replacement.
    pub delay: i64,
}

/// The `AllocatedCpuResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedCpuResources {
    /// MHz.
    pub cpu_shares: i64,
    /// IDs of the cores that no other task may use, ascending.
    #[serde(serialize_with = "nil::serialize", deserialize_with = "narrow_list::<u16, _, _>")]
    pub reserved_cores: Vec<u64>,
}

/// The `AllocatedMemoryResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedMemoryResources {
    /// MB that are reserved for the task.
    #[serde(rename = "MemoryMB")]
    pub memory_mb: i64,
    /// MB that the task may use at most; 0: `memory_mb`.
    #[serde(rename = "MemoryMaxMB")]
    pub memory_max_mb: i64,
}

/// The `AllocatedDeviceResource` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedDeviceResource {
    /// The vendor of the device group: `nvidia`.
    pub vendor: String,
    /// The type of the device group: `gpu`.
    pub r#type: String,
    /// The model: the name of the device group.
    pub name: String,
    /// IDs of the instances.
    #[serde(rename = "DeviceIDs", with = "nil")]
    pub device_ids: Vec<String>,
}

/// The `AllocatedPortMapping` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedPortMapping {
    /// The name of the port in the job file.
    #[serde(skip_serializing_if = "is_default")]
    pub label: String,
    /// The port's number on the host.
    #[serde(skip_serializing_if = "is_default")]
    pub value: i64,
    /// The number inside of the network namespace; 0: none was asked for.
    #[serde(skip_serializing_if = "is_default")]
    pub to: i64,
    /// The host's address the port is bound to.
    #[serde(rename = "HostIP", skip_serializing_if = "is_default")]
    pub host_ip: String,
    /// Whether other allocations of the node may use the same number.
    #[serde(skip_serializing_if = "is_default")]
    pub ignore_collision: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// There may be a million of them: rarely set members are behind pointers, and texts that many have are shared.
    #[test]
    fn an_allocation_is_small() {
        assert!(size_of::<Allocation>() <= 408, "{}", size_of::<Allocation>());
    }

    /// The API names every task, those without a lifecycle with null.
    #[test]
    fn lifecycles_may_be_null() {
        let text = r#"{"TaskLifecycles":{"init":{"Hook":"prestart","Sidecar":true},"main":null}}"#;
        let r: AllocatedResources = serde_json::from_str(text).unwrap();
        assert_eq!((r.lifecycle("init"), r.lifecycle("main")), (Some((&LifecycleHook::Prestart, true)), None));
        assert!(serde_json::to_string(&r).unwrap().contains(r#""main":null"#));
    }
}
