//! Allocations: one instance of a task group on one node.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::group::*;
use super::job::*;
use super::json::{is_default, narrow, narrow_list, nil, or_default};
use super::resources::*;
use super::scores::Scores;
use super::sorted_map::SortedMap;
use super::time::Time;

/// One task group instance placed on a node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Allocation {
    #[serde(rename = "ID", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub namespace: String,
    #[serde(rename = "EvalID", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub eval_id: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub name: String,
    #[serde(rename = "NodeID", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub node_id: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub node_name: String,
    #[serde(rename = "JobID", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub job_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<Arc<Job>>,
    /// Version of the job the allocation was placed with, where a file leaves the job itself out.
    #[serde(rename = "JobVersion", skip_serializing_if = "Option::is_none")]
    pub stored_job_version: Option<u64>,
    /// Position of the job in a list of jobs that a file holds beside its allocations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_ref: Option<u32>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub task_group: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Box<Resources>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_resources: Option<Box<Resources>>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub task_resources: SortedMap<Resources>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated_resources: Option<Arc<AllocatedResources>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Arc<AllocMetric>>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub desired_status: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub desired_description: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub desired_transition: DesiredTransition,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub client_status: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub client_description: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub task_states: SortedMap<TaskState>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub alloc_states: Vec<AllocState>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub previous_allocation: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub next_allocation: String,
    #[serde(rename = "DeploymentID", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub deployment_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deployment_status: Option<AllocDeploymentStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reschedule_tracker: Option<RescheduleTracker>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_status: Option<Box<AllocNetworkStatus>>,
    #[serde(rename = "FollowupEvalID", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub followup_eval_id: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub preempted_allocations: Vec<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub preempted_by_allocation: String,
    #[serde(rename = "SigningKeyID", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub signing_key_id: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub modify_index: u64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub alloc_modify_index: u64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub create_time: i64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub modify_time: i64,
}

/// An allocation as list endpoints and plan annotations show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocListStub {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(rename = "EvalID", deserialize_with = "or_default")]
    pub eval_id: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(rename = "NodeID", deserialize_with = "or_default")]
    pub node_id: String,
    #[serde(deserialize_with = "or_default")]
    pub node_name: String,
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    #[serde(deserialize_with = "or_default")]
    pub job_type: String,
    #[serde(deserialize_with = "or_default")]
    pub job_version: u64,
    #[serde(deserialize_with = "or_default")]
    pub task_group: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated_resources: Option<Arc<AllocatedResources>>,
    #[serde(deserialize_with = "or_default")]
    pub desired_status: String,
    #[serde(deserialize_with = "or_default")]
    pub desired_description: String,
    #[serde(deserialize_with = "or_default")]
    pub client_status: String,
    #[serde(deserialize_with = "or_default")]
    pub client_description: String,
    #[serde(deserialize_with = "or_default")]
    pub desired_transition: DesiredTransition,
    #[serde(with = "nil")]
    pub task_states: SortedMap<TaskState>,
    pub deployment_status: Option<AllocDeploymentStatus>,
    #[serde(rename = "FollowupEvalID", deserialize_with = "or_default")]
    pub followup_eval_id: String,
    #[serde(deserialize_with = "or_default")]
    pub next_allocation: String,
    pub reschedule_tracker: Option<RescheduleTracker>,
    #[serde(with = "nil")]
    pub preempted_allocations: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub preempted_by_allocation: String,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub create_time: i64,
    #[serde(deserialize_with = "or_default")]
    pub modify_time: i64,
}

/// What an allocation was given: per task and shared. Tasks without a lifecycle have a null one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedResources {
    #[serde(with = "nil")]
    pub tasks: SortedMap<AllocatedTaskResources>,
    #[serde(with = "nil")]
    pub task_lifecycles: SortedMap<Option<TaskLifecycleConfig>>,
    #[serde(deserialize_with = "or_default")]
    pub shared: AllocatedSharedResources,
}

impl AllocatedResources {
    /// Hook of a task's lifecycle and whether it is a sidecar; `None` for a main task.
    pub fn lifecycle(&self, task: &str) -> Option<(&str, bool)> {
        self.task_lifecycles.get(task)?.as_ref().map(|l| (l.hook.as_str(), l.sidecar))
    }
}

/// What one node search looked at and why it decided as it did (`docs/spec/scheduling.md §10`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocMetric {
    #[serde(deserialize_with = "or_default")]
    pub nodes_evaluated: i64,
    #[serde(deserialize_with = "or_default")]
    pub nodes_filtered: i64,
    #[serde(deserialize_with = "or_default")]
    pub nodes_in_pool: i64,
    #[serde(deserialize_with = "or_default")]
    pub node_pool: String,
    /// Ready nodes per datacenter; shared by all placements of one evaluation.
    pub nodes_available: Option<Arc<SortedMap<i64>>>,
    #[serde(with = "nil")]
    pub class_filtered: BTreeMap<String, i64>,
    #[serde(with = "nil")]
    pub constraint_filtered: BTreeMap<String, i64>,
    #[serde(deserialize_with = "or_default")]
    pub nodes_exhausted: i64,
    #[serde(with = "nil")]
    pub class_exhausted: BTreeMap<String, i64>,
    #[serde(with = "nil")]
    pub dimension_exhausted: BTreeMap<String, i64>,
    #[serde(with = "nil")]
    pub quota_exhausted: Vec<String>,
    #[serde(with = "nil")]
    pub resources_exhausted: BTreeMap<String, Resources>,
    #[serde(with = "nil")]
    pub scores: BTreeMap<String, f64>,
    #[serde(with = "nil")]
    pub score_meta_data: Vec<NodeScoreMeta>,
    #[serde(deserialize_with = "or_default")]
    pub allocation_time: i64,
    #[serde(deserialize_with = "or_default")]
    pub coalesced_failures: i64,
}

/// The `DesiredTransition` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DesiredTransition {
    pub migrate: Option<bool>,
    pub reschedule: Option<bool>,
    pub force_reschedule: Option<bool>,
    pub no_shutdown_delay: Option<bool>,
    pub migrate_disable_placement: Option<bool>,
}

/// The `TaskState` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskState {
    #[serde(deserialize_with = "or_default")]
    pub state: String,
    #[serde(deserialize_with = "or_default")]
    pub failed: bool,
    #[serde(deserialize_with = "or_default")]
    pub restarts: u64,
    #[serde(deserialize_with = "or_default")]
    pub last_restart: Time,
    #[serde(deserialize_with = "or_default")]
    pub started_at: Time,
    #[serde(deserialize_with = "or_default")]
    pub finished_at: Time,
    #[serde(with = "nil")]
    pub events: Vec<TaskEvent>,
    #[serde(deserialize_with = "or_default")]
    pub paused: String,
}

/// The `AllocState` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocState {
    #[serde(deserialize_with = "narrow::<u8, _, _>")]
    pub field: u64,
    #[serde(deserialize_with = "or_default")]
    pub value: String,
    #[serde(deserialize_with = "or_default")]
    pub time: Time,
}

/// The `AllocDeploymentStatus` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocDeploymentStatus {
    pub healthy: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    pub timestamp: Time,
    #[serde(deserialize_with = "or_default")]
    pub canary: bool,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// The chain of earlier failed instances; null and empty `events` differ (`docs/spec/reconciliation.md §6.3`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RescheduleTracker {
    pub events: Option<Vec<RescheduleEvent>>,
    #[serde(deserialize_with = "or_default")]
    pub last_reschedule: String,
}

/// The `AllocNetworkStatus` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocNetworkStatus {
    #[serde(deserialize_with = "or_default")]
    pub interface_name: String,
    #[serde(deserialize_with = "or_default")]
    pub address: String,
    #[serde(rename = "AddressIPv6", deserialize_with = "or_default")]
    pub address_ipv6: String,
    #[serde(rename = "DNS")]
    pub dns: Option<DnsConfig>,
}

/// The `AllocatedTaskResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedTaskResources {
    #[serde(deserialize_with = "or_default")]
    pub cpu: AllocatedCpuResources,
    #[serde(deserialize_with = "or_default")]
    pub memory: AllocatedMemoryResources,
    #[serde(with = "nil")]
    pub networks: Vec<NetworkResource>,
    #[serde(with = "nil")]
    pub devices: Vec<AllocatedDeviceResource>,
}

/// The `AllocatedSharedResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedSharedResources {
    #[serde(with = "nil")]
    pub networks: Vec<NetworkResource>,
    #[serde(rename = "DiskMB", deserialize_with = "or_default")]
    pub disk_mb: i64,
    #[serde(with = "nil")]
    pub ports: Vec<AllocatedPortMapping>,
}

/// The scores of one candidate node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeScoreMeta {
    #[serde(rename = "NodeID", deserialize_with = "or_default")]
    pub node_id: String,
    #[serde(deserialize_with = "or_default")]
    pub scores: Scores,
    #[serde(deserialize_with = "or_default")]
    pub norm_score: f64,
}

/// The `TaskEvent` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskEvent {
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub time: i64,
    #[serde(deserialize_with = "or_default")]
    pub message: String,
    #[serde(deserialize_with = "or_default")]
    pub display_message: String,
    #[serde(with = "nil")]
    pub details: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub fails_task: bool,
    #[serde(deserialize_with = "or_default")]
    pub restart_reason: String,
    #[serde(deserialize_with = "or_default")]
    pub setup_error: String,
    #[serde(deserialize_with = "or_default")]
    pub driver_error: String,
    #[serde(deserialize_with = "or_default")]
    pub exit_code: i64,
    #[serde(deserialize_with = "or_default")]
    pub signal: i64,
    #[serde(deserialize_with = "or_default")]
    pub kill_timeout: i64,
    #[serde(deserialize_with = "or_default")]
    pub kill_error: String,
    #[serde(deserialize_with = "or_default")]
    pub kill_reason: String,
    #[serde(deserialize_with = "or_default")]
    pub start_delay: i64,
    #[serde(deserialize_with = "or_default")]
    pub download_error: String,
    #[serde(deserialize_with = "or_default")]
    pub validation_error: String,
    #[serde(deserialize_with = "or_default")]
    pub disk_limit: i64,
    #[serde(deserialize_with = "or_default")]
    pub failed_sibling: String,
    #[serde(deserialize_with = "or_default")]
    pub vault_error: String,
    #[serde(deserialize_with = "or_default")]
    pub task_signal_reason: String,
    #[serde(deserialize_with = "or_default")]
    pub task_signal: String,
    #[serde(deserialize_with = "or_default")]
    pub driver_message: String,
    #[serde(deserialize_with = "or_default")]
    pub generic_source: String,
}

/// The `RescheduleEvent` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RescheduleEvent {
    #[serde(deserialize_with = "or_default")]
    pub reschedule_time: i64,
    #[serde(rename = "PrevAllocID", deserialize_with = "or_default")]
    pub prev_alloc_id: String,
    #[serde(rename = "PrevNodeID", deserialize_with = "or_default")]
    pub prev_node_id: String,
    #[serde(deserialize_with = "or_default")]
    pub delay: i64,
}

/// The `AllocatedCpuResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedCpuResources {
    #[serde(deserialize_with = "or_default")]
    pub cpu_shares: i64,
    #[serde(serialize_with = "nil::serialize", deserialize_with = "narrow_list::<u16, _, _>")]
    pub reserved_cores: Vec<u64>,
}

/// The `AllocatedMemoryResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedMemoryResources {
    #[serde(rename = "MemoryMB", deserialize_with = "or_default")]
    pub memory_mb: i64,
    #[serde(rename = "MemoryMaxMB", deserialize_with = "or_default")]
    pub memory_max_mb: i64,
}

/// The `AllocatedDeviceResource` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedDeviceResource {
    #[serde(deserialize_with = "or_default")]
    pub vendor: String,
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(rename = "DeviceIDs", with = "nil")]
    pub device_ids: Vec<String>,
}

/// The `AllocatedPortMapping` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocatedPortMapping {
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub label: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub value: i64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub to: i64,
    #[serde(rename = "HostIP", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub host_ip: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub ignore_collision: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The API names every task, those without a lifecycle with null.
    #[test]
    fn lifecycles_may_be_null() {
        let text = r#"{"TaskLifecycles":{"init":{"Hook":"prestart","Sidecar":true},"main":null}}"#;
        let r: AllocatedResources = serde_json::from_str(text).unwrap();
        assert_eq!((r.lifecycle("init"), r.lifecycle("main")), (Some(("prestart", true)), None));
        assert!(serde_json::to_string(&r).unwrap().contains(r#""main":null"#));
    }
}
