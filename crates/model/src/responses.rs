//! Responses about jobs, evaluations, allocations, deployments, scaling and nodes: the objects that are not stored but
//! created for a response. Servers write them and clients read them; clients accept null and absent members.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::acl::{AclPolicy, JobAcl};
use super::alloc::Allocation;
use super::diff::JobDiff;
use super::job::{Job, Multiregion, ScalingPolicy};
use super::json::{is_default, nil, nil_entries, null_is_default};
use super::node::{ClientHostVolumeConfig, DrainMetadata, DriverInfo, NodeReservedResources, NodeResources};
use super::records::{JobSummary, ScalingEvent};
use super::secret::SecretString;
use super::shared::Shared;
use super::status::{ClientStatus, DeploymentStatus, JobStatus, JobType};
use super::status::{NodeEligibility, NodeStatus, ScalingPolicyType};
use super::time::Time;

/// The response to a node's registration or heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeUpdateResponse {
    /// Raft index of the write; 0 if nothing was written.
    pub index: u64,
    /// How long until the next heartbeat is due, in nanoseconds.
    pub heartbeat_ttl: i64,
    /// Addresses of the servers; a registration without any is an error.
    pub servers: Vec<String>,
    /// The number of nodes in the cluster.
    pub num_nodes: i64,
    /// The node's eligibility as stored; unset: not stated.
    pub scheduling_eligibility: NodeEligibility,
    /// A new signed identity; empty: the current one remains valid.
    pub signed_identity: SecretString,
}

/// The allocations of a node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeClientAllocsResponse {
    /// `AllocModifyIndex` by allocation ID.
    pub allocs: BTreeMap<String, u64>,
    /// Index of the state that was read.
    pub index: u64,
}

/// Allocations in full.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AllocsGetResponse {
    /// The allocations that exist.
    pub allocs: Vec<Arc<Allocation>>,
    /// Index of the state that was read.
    pub index: u64,
}

/// The answer to a registration, an evaluation, a rollback or a scaling.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobRegisterResponse {
    /// The evaluation; empty: none was made.
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    /// Raft index at which the evaluation was made.
    pub eval_create_index: u64,
    /// The job's `JobModifyIndex`; of an unchanged job its `ModifyIndex`.
    pub job_modify_index: u64,
    /// Warnings about the job, as one text; empty: none.
    pub warnings: String,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    /// Whether the server knows a leader; false in most answers to writes.
    pub known_leader: bool,
    /// The first row of the next page; empty: there is none.
    pub next_token: String,
}

/// The answer to the stop of a job.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobDeregisterResponse {
    /// The evaluation; empty: none was made.
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    /// Raft index at which the evaluation was made.
    pub eval_create_index: u64,
    /// Raft index of the stop.
    pub job_modify_index: u64,
    /// Always empty: kept for clients.
    #[serde(rename = "VolumeEvalID")]
    pub volume_eval_id: String,
    /// Always 0: kept for clients.
    pub volume_eval_index: u64,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    /// Whether the server knows a leader; false in most answers to writes.
    pub known_leader: bool,
    /// The first row of the next page; empty: there is none.
    pub next_token: String,
}

/// The answer to a dispatch.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobDispatchResponse {
    /// The ID of the child.
    #[serde(rename = "DispatchedJobID")]
    pub dispatched_job_id: String,
    /// The evaluation of the child; empty: none was made.
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    /// Raft index at which the evaluation was made.
    pub eval_create_index: u64,
    /// Raft index at which the child was made.
    pub job_create_index: u64,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
}

/// The answer to a launch of a periodic job on demand.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PeriodicForceResponse {
    /// The evaluation of the child; empty: none was made.
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    /// Raft index at which the evaluation was made.
    pub eval_create_index: u64,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
}

/// The answer to a tag put on a version, or taken off.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobTagResponse {
    /// The name of the tag; empty if it was taken off.
    pub name: String,
    /// The description of the tag.
    pub description: String,
    /// Unix nanoseconds.
    pub tagged_time: i64,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    /// Whether the server knows a leader; false in most answers to writes.
    pub known_leader: bool,
    /// The first row of the next page; empty: there is none.
    pub next_token: String,
}

/// An answer that tells an index and nothing else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct GenericResponse {
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
}

/// The result of validating a job.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobValidateResponse {
    /// Always true: kept for clients.
    pub driver_config_validated: bool,
    /// The single errors.
    #[serde(with = "nil")]
    pub validation_errors: Vec<String>,
    /// All errors as one text; empty: none.
    pub error: String,
    /// All warnings as one text; empty: none.
    pub warnings: String,
}

/// The versions of a job, the newest first. Servers write stored jobs; clients read those, or the form in which clients
/// write jobs ([`super::api::Job`]).
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default, bound(deserialize = "J: Deserialize<'de> + Default"))]
pub struct JobVersionsResponse<J = Arc<Job>> {
    /// The newest first.
    pub versions: Vec<J>,
    /// How each version differs from the next older one, or each from the version that was named; null unless
    /// requested.
    pub diffs: Option<Vec<JobDiff>>,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    /// Whether the server knows a leader; false in most answers to writes.
    pub known_leader: bool,
    /// The first row of the next page; empty: there is none.
    pub next_token: String,
}

/// A job as lists show it.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobListStub {
    /// 1 or more characters, no spaces; unique in its namespace. Children of periodic and parameterized jobs have the
    /// parent's ID as prefix.
    #[serde(rename = "ID")]
    pub id: String,
    /// The periodic or parameterized job that launched this one; empty: none.
    #[serde(rename = "ParentID")]
    pub parent_id: String,
    /// A name for operators.
    pub name: String,
    /// The namespace; with `id` the key of the job.
    pub namespace: String,
    /// Patterns with `*`; the datacenter of a node must match one.
    #[serde(with = "nil")]
    pub datacenters: Vec<String>,
    /// The node pool; `all` stands for every node.
    pub node_pool: String,
    /// Regions to run in; null, as multi-region jobs belong to the enterprise edition.
    pub multiregion: Option<Multiregion>,
    /// `service`, `batch`, `system` or `sysbatch`.
    pub r#type: JobType,
    /// From 1 to the server's `job_max_priority`; a larger one takes precedence.
    pub priority: i64,
    /// Whether the job is periodic.
    pub periodic: bool,
    /// Whether the job is parameterized.
    pub parameterized_job: bool,
    /// Whether the job was stopped.
    pub stop: bool,
    /// `pending`, `running` or `dead`.
    pub status: JobStatus,
    /// Why the status is what it is; mostly empty.
    pub status_description: String,
    /// How many allocations are in which state.
    pub job_summary: Option<Arc<JobSummary>>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Raft index of the last change of the specification.
    pub job_modify_index: u64,
    /// Unix nanoseconds.
    pub submit_time: i64,
    /// Only where it was asked for.
    #[serde(skip_serializing_if = "is_default")]
    pub meta: BTreeMap<String, String>,
}

/// A command that a task offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobAction {
    /// The action's name.
    pub name: String,
    /// The program.
    pub command: String,
    /// Arguments of the program.
    #[serde(with = "nil")]
    pub args: Vec<String>,
    /// The task that offers the action.
    pub task_name: String,
    /// The group of that task.
    pub task_group_name: String,
}

/// Counts and scaling events of a job.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobScaleStatus {
    /// The job's ID.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The namespace of the job.
    pub namespace: String,
    /// The job's `CreateIndex`.
    pub job_create_index: u64,
    /// The job's `ModifyIndex`, not its `JobModifyIndex`.
    pub job_modify_index: u64,
    /// Whether the job was stopped.
    pub job_stopped: bool,
    /// By task group.
    #[serde(deserialize_with = "nil_entries::deserialize")]
    pub task_groups: BTreeMap<String, TaskGroupScaleStatus>,
}

/// Counts and scaling events of a group.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroupScaleStatus {
    /// The count of the group.
    pub desired: i64,
    /// Allocations that are not terminal.
    pub placed: i64,
    /// Those of them that run.
    pub running: i64,
    /// Those of them that their deployment found healthy.
    pub healthy: i64,
    /// Those of them that their deployment found unhealthy.
    pub unhealthy: i64,
    /// The newest first.
    #[serde(with = "nil")]
    pub events: Vec<ScalingEvent>,
}

/// A job as overviews show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobStatusesJob {
    /// 1 or more characters, no spaces; unique in its namespace. Children of periodic and parameterized jobs have the
    /// parent's ID as prefix.
    #[serde(rename = "ID")]
    pub id: String,
    /// The namespace; with `id` the key of the job.
    pub namespace: String,
    /// A name for operators; by default the ID.
    pub name: String,
    /// `service`, `batch`, `system` or `sysbatch`.
    pub r#type: JobType,
    /// The node pool; `all` stands for every node.
    pub node_pool: String,
    /// Patterns with `*`; the datacenter of a node must match one.
    #[serde(with = "nil")]
    pub datacenters: Vec<String>,
    /// From 1 to the server's `job_max_priority`; a larger one takes precedence.
    pub priority: i64,
    /// Counts changes of the specification, from 0.
    pub version: u64,
    /// Unix nanoseconds.
    pub submit_time: i64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// The job's allocations; null for jobs that launch others.
    #[serde(with = "nil")]
    pub allocs: Vec<JobStatusesAlloc>,
    /// The sum of the counts of the groups.
    pub group_count_sum: i64,
    /// Null for jobs that launch no others.
    pub child_statuses: Option<Vec<JobStatus>>,
    /// The periodic or parameterized job that launched this one; empty: none.
    #[serde(rename = "ParentID")]
    pub parent_id: String,
    /// The last deployment; null: none, or the job launches others.
    pub latest_deployment: Option<JobStatusesLatestDeployment>,
    /// Whether the job was stopped.
    pub stop: bool,
    /// Whether the job's meta has a `pack.name`.
    pub is_pack: bool,
    /// `pending`, `running` or `dead`.
    pub status: JobStatus,
}

/// An allocation as overviews show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobStatusesAlloc {
    /// The allocation's ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// The task group.
    pub group: String,
    /// The client status: `pending`, `running`, `complete`, `failed`, `lost` or `unknown`.
    pub client_status: ClientStatus,
    /// The node it is placed on.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// Its health in a deployment.
    pub deployment_status: JobStatusesDeployment,
    /// The version of the job it was placed with.
    pub job_version: u64,
    /// The delayed evaluation that will look at it again; empty: none.
    #[serde(rename = "FollowupEvalID")]
    pub followup_eval_id: String,
    /// Whether a task schedule paused a task.
    pub has_paused_task: bool,
}

/// An allocation's part in a rollout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobStatusesDeployment {
    /// Whether it is a canary that was not promoted.
    pub canary: bool,
    /// Null: not decided yet.
    pub healthy: Option<bool>,
}

/// The last rollout of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobStatusesLatestDeployment {
    /// The deployment's ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// Whether the deployment can still go on.
    pub is_active: bool,
    /// The version of the job that is rolled out.
    pub job_version: u64,
    /// `running`, `paused`, `successful`, `failed` or `cancelled`.
    pub status: DeploymentStatus,
    /// Why the status is what it is.
    pub status_description: String,
    /// Whether all canaries are promoted without an operator.
    pub all_auto_promote: bool,
    /// Whether canaries wait for promotion.
    pub requires_promotion: bool,
}

/// The answer to a stop of an allocation.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocStopResponse {
    /// The evaluation.
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
}

/// How many evaluations there are.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EvalCountResponse {
    /// How many there are.
    pub count: u64,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    /// Whether the server knows a leader; false in most answers to writes.
    pub known_leader: bool,
    /// The first row of the next page; empty: there is none.
    pub next_token: String,
}

/// How many evaluations were deleted.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EvalDeleteResponse {
    /// How many were deleted.
    pub count: u64,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
}

/// The answer to a change of a deployment.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentUpdateResponse {
    /// The evaluation; empty: none was made.
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    /// Raft index at which the evaluation was made; 0: none was made.
    pub eval_create_index: u64,
    /// Raft index of the change.
    pub deployment_modify_index: u64,
    /// The version the job went back to, if it did.
    pub reverted_job_version: Option<u64>,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
}

/// A scaling policy as lists show it.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScalingPolicyListStub {
    /// A UUID that the server chooses.
    #[serde(rename = "ID")]
    pub id: String,
    /// Whether autoscalers may act.
    pub enabled: bool,
    /// `horizontal` (the count of a group), `vertical_cpu` or `vertical_mem` (resources of a task).
    pub r#type: ScalingPolicyType,
    /// The scaling target: `Namespace`, `Job`, `Group` and, if vertical, `Task`.
    #[serde(with = "nil")]
    pub target: BTreeMap<String, String>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// A node as lists show it.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeListStub {
    /// The host of the node's HTTP address.
    pub address: String,
    /// A UUID that the node makes and keeps.
    #[serde(rename = "ID")]
    pub id: String,
    /// `os.name`; only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes: Option<BTreeMap<String, String>>,
    /// The datacenter; jobs choose nodes by it.
    pub datacenter: String,
    /// The name that the operator gave, or the host's.
    pub name: String,
    /// The node pool.
    pub node_pool: String,
    /// The operator's label; empty: none.
    pub node_class: String,
    /// The version of the agent.
    pub version: String,
    /// Whether the node is being drained.
    pub drain: bool,
    /// `eligible`, or `ineligible`: nothing new is placed.
    pub scheduling_eligibility: NodeEligibility,
    /// `initializing`, `ready`, `down` or `disconnected`.
    pub status: NodeStatus,
    /// Why the status is what it is; mostly empty.
    pub status_description: String,
    /// Task drivers by name. A null entry reads as a driver that was not detected.
    #[serde(deserialize_with = "nil_entries::shared")]
    pub drivers: Shared<BTreeMap<String, DriverInfo>>,
    /// Host volumes by name.
    #[serde(serialize_with = "nil::serialize", deserialize_with = "nil_entries::deserialize")]
    pub host_volumes: BTreeMap<String, ClientHostVolumeConfig>,
    /// The capacity of the node; only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_resources: Option<Shared<NodeResources>>,
    /// The part of the capacity that jobs do not get; only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved_resources: Option<NodeReservedResources>,
    /// The current or last drain; null: none.
    pub last_drain: Option<DrainMetadata>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// The result of a search. `T`: the name or ID of a match, or a match of a fuzzy search.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default, bound(deserialize = "T: Deserialize<'de> + Default"))]
pub struct SearchResponse<T = String> {
    /// The matches by kind of object.
    pub matches: BTreeMap<String, Option<Vec<T>>>,
    /// The kinds of which there are more matches.
    pub truncations: BTreeMap<String, bool>,
    /// Raft index of the data read.
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    /// Whether the server knows a leader.
    pub known_leader: bool,
    /// Always empty: searches have no pages.
    pub next_token: String,
}

/// A file of an allocation.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocFileInfo {
    /// The file's name, without its directory.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Bytes.
    pub size: u64,
    /// As `ls` writes it: `drwxrwxrwx`.
    pub file_mode: String,
    /// When the contents last changed.
    pub mod_time: Time,
    /// The detected content type; only of a single file.
    #[serde(skip_serializing_if = "is_default")]
    pub content_type: String,
}

impl ScalingPolicy {
    /// The policy as lists show it.
    pub fn stub(&self) -> ScalingPolicyListStub {
        ScalingPolicyListStub {
            id: self.id.clone(),
            enabled: self.enabled,
            r#type: self.r#type.clone(),
            target: self.target.clone(),
            create_index: self.create_index,
            modify_index: self.modify_index,
        }
    }
}

impl Job {
    /// The job as lists show it.
    pub fn stub(&self, summary: Option<Arc<JobSummary>>, with_meta: bool) -> JobListStub {
        JobListStub {
            id: self.id.clone(),
            parent_id: self.parent_id.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            datacenters: self.datacenters.clone(),
            node_pool: self.node_pool.clone(),
            multiregion: self.multiregion.clone(),
            r#type: self.r#type.clone(),
            priority: self.priority,
            periodic: self.periodic.is_some(),
            parameterized_job: self.is_parameterized(),
            stop: self.stop,
            status: self.status.clone(),
            status_description: self.status_description.clone(),
            job_summary: summary,
            create_index: self.create_index,
            modify_index: self.modify_index,
            job_modify_index: self.job_modify_index,
            submit_time: self.submit_time,
            meta: if with_meta { self.meta.clone() } else { BTreeMap::new() },
        }
    }

    /// Whether the job launches others instead of running itself: periodic, enabled or not, or parameterized.
    pub fn launches_others(&self) -> bool {
        self.periodic.is_some() || self.is_parameterized()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::super::stats::{AllocResourceUsage, HostStats, ResourceUsage, TaskResourceUsage};
    use super::*;

    fn reads_nulls<T: Serialize + DeserializeOwned + Default + PartialEq + Debug>() {
        let Ok(Value::Object(mut members)) = serde_json::to_value(T::default()) else { panic!("not an object") };
        members.values_mut().for_each(|value| *value = Value::Null);
        members.insert("Unknown".into(), json!([1]));
        for body in [Value::Object(members), json!({})] {
            assert_eq!(serde_json::from_value::<T>(body).expect("a response"), T::default());
        }
    }

    #[test]
    fn null_absent_and_unknown_members_are_accepted() {
        reads_nulls::<JobRegisterResponse>();
        reads_nulls::<JobDeregisterResponse>();
        reads_nulls::<JobDispatchResponse>();
        reads_nulls::<PeriodicForceResponse>();
        reads_nulls::<JobValidateResponse>();
        reads_nulls::<JobVersionsResponse>();
        reads_nulls::<JobListStub>();
        reads_nulls::<JobScaleStatus>();
        reads_nulls::<TaskGroupScaleStatus>();
        reads_nulls::<AllocStopResponse>();
        reads_nulls::<EvalCountResponse>();
        reads_nulls::<EvalDeleteResponse>();
        reads_nulls::<DeploymentUpdateResponse>();
        reads_nulls::<ScalingPolicyListStub>();
        reads_nulls::<NodeListStub>();
        reads_nulls::<SearchResponse>();
        reads_nulls::<AllocFileInfo>();
        reads_nulls::<HostStats>();
        reads_nulls::<AllocResourceUsage>();
        reads_nulls::<TaskResourceUsage>();
        reads_nulls::<ResourceUsage>();
    }

    #[test]
    fn null_entries_of_maps_read_as_defaults() {
        let status: JobScaleStatus = serde_json::from_value(json!({"TaskGroups": {"web": null}})).expect("a status");
        assert_eq!(status.task_groups["web"], TaskGroupScaleStatus::default());
        let node: NodeListStub = serde_json::from_value(json!({"Drivers": {"exec": null}})).expect("a node");
        assert_eq!(node.drivers["exec"], DriverInfo::default());
        let found: SearchResponse = serde_json::from_value(json!({"Matches": {"jobs": null}})).expect("a result");
        assert_eq!(found.matches["jobs"], None);
    }
}

/// What the caller of a request may do (`GET /v1/acl/access`, `docs/spec/http-api.md §5.16`).
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclAccess {
    /// The caller: `token:<accessor>`, `token:anonymous`, `token:acls-disabled`, `alloc:<id>`, `client:<node>`,
    /// `client-introduction`, `leader`.
    pub caller: String,
    /// Whether the caller may do everything.
    pub management: bool,
    /// The caller's policies, those of its roles included.
    #[serde(with = "nil")]
    pub policies: Vec<Arc<AclPolicy>>,
    /// The workload, which has rights of its own.
    pub workload: Option<JobAcl>,
}
