//! Jobs as clients send them: every optional value may be null until it is canonicalised.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::json::null_is_default;
use super::service::*;

/// A job: what an operator submits and the schedulers work on.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Job {
    /// The region to run in; null: the agent's.
    pub region: Option<String>,
    /// The namespace; with `id` the key of the job.
    pub namespace: Option<String>,
    /// 1 or more characters, no spaces; unique in its namespace. Children of periodic and parameterized jobs have the
    /// parent's ID as prefix.
    #[serde(rename = "ID")]
    pub id: Option<String>,
    /// A name for operators; by default the ID.
    pub name: Option<String>,
    /// `service`, `batch`, `system` or `sysbatch`.
    pub r#type: Option<String>,
    /// From 1 to the server's `job_max_priority`; a larger one takes precedence.
    pub priority: Option<i64>,
    /// Whether a plan is rejected as a whole if one node rejects its part.
    pub all_at_once: Option<bool>,
    /// Patterns with `*`; the datacenter of a node must match one.
    pub datacenters: Option<Vec<String>>,
    /// The node pool; `all` stands for every node.
    pub node_pool: Option<String>,
    /// Constraints of all groups, in the order of the job file.
    pub constraints: Option<Vec<Constraint>>,
    /// Affinities of all groups, in the order of the job file.
    pub affinities: Option<Vec<Affinity>>,
    /// In the order of the job file; names are unique.
    pub task_groups: Option<Vec<TaskGroup>>,
    /// The rollout of groups that have none of their own.
    pub update: Option<UpdateStrategy>,
    /// Regions to run in; validation rejects it, as it belongs to the enterprise edition.
    pub multiregion: Option<Multiregion>,
    /// Spreads of all groups, in the order of the job file.
    pub spreads: Option<Vec<Spread>>,
    /// When the job launches children; null: it is not periodic.
    pub periodic: Option<PeriodicConfig>,
    /// Requirements on dispatches; null: the job is not parameterized.
    pub parameterized_job: Option<ParameterizedJobConfig>,
    /// When failed allocations of groups without a block of their own are replaced.
    pub reschedule: Option<ReschedulePolicy>,
    /// How groups leave draining nodes that have no block of their own.
    pub migrate: Option<MigrateStrategy>,
    /// Free-form metadata; tasks see them as `NOMAD_META_…`.
    pub meta: Option<BTreeMap<String, String>>,
    /// Texts and links that web UIs show with the job.
    #[serde(rename = "UI")]
    pub ui: Option<JobUiConfig>,
    /// Whether the job was stopped.
    pub stop: Option<bool>,
    /// The periodic or parameterized job that launched this one; empty: none.
    #[serde(rename = "ParentID")]
    pub parent_id: Option<String>,
    /// Whether a dispatch made the job.
    pub dispatched: bool,
    /// The token of the dispatch that made the job: a second dispatch with it makes none.
    pub dispatch_idempotency_token: Option<String>,
    /// The payload of a dispatched job, base64.
    pub payload: Option<String>,
    /// The Consul namespace; empty: the agent's.
    pub consul_namespace: Option<String>,
    /// The Vault namespace; empty: the agent's.
    pub vault_namespace: Option<String>,
    /// Kept as clients send it; servers do not read it.
    #[serde(rename = "NomadTokenID")]
    pub nomad_token_id: Option<String>,
    /// `pending`, `running` or `dead`.
    pub status: Option<String>,
    /// Why the status is what it is; mostly empty.
    pub status_description: Option<String>,
    /// Whether a deployment of this version succeeded, or an operator said so: a rollback may go here.
    pub stable: Option<bool>,
    /// Counts changes of the specification, from 0.
    pub version: Option<u64>,
    /// When this version was registered, in Unix nanoseconds.
    pub submit_time: Option<i64>,
    /// Raft index of the write that created the object.
    pub create_index: Option<u64>,
    /// Raft index of the last write to the object.
    pub modify_index: Option<u64>,
    /// Raft index of the last change of the specification.
    pub job_modify_index: Option<u64>,
    /// The tag of this version; null: it has none.
    pub version_tag: Option<JobVersionTag>,
    /// Members this version does not know, passed on as they came.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The `Constraint` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Constraint {
    /// The left side: a literal, or `${attr.…}`, `${meta.…}`, `${node.…}`.
    #[serde(rename = "LTarget")]
    pub ltarget: String,
    /// The right side: a literal or a target.
    #[serde(rename = "RTarget")]
    pub rtarget: String,
    /// The operator: `=`, `!=`, `<`, `regexp`, `version`, … (`docs/spec/scheduling.md §6.1`).
    pub operand: String,
}

/// The `Affinity` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Affinity {
    /// The left side: a literal, or `${attr.…}`, `${meta.…}`, `${node.…}`.
    #[serde(rename = "LTarget")]
    pub ltarget: String,
    /// The right side: a literal or a target.
    #[serde(rename = "RTarget")]
    pub rtarget: String,
    /// The operator: `=`, `!=`, `<`, `regexp`, `version`, … (`docs/spec/scheduling.md §6.1`).
    pub operand: String,
    /// From -100 to 100, without 0; negative: nodes that match are avoided.
    pub weight: Option<i64>,
}

/// A set of tasks that are placed together; `count` copies of it run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroup {
    /// Unique in the job.
    pub name: Option<String>,
    /// How many copies run; of system jobs 0 or 1 per node.
    pub count: Option<i64>,
    /// Beside those of the job, in the order of the job file.
    pub constraints: Option<Vec<Constraint>>,
    /// Beside those of the job, in the order of the job file.
    pub affinities: Option<Vec<Affinity>>,
    /// In the order of the job file; names are unique.
    pub tasks: Option<Vec<Task>>,
    /// Beside those of the job, in the order of the job file.
    pub spreads: Option<Vec<Spread>>,
    /// Volumes that tasks of the group can mount, by name.
    pub volumes: Option<BTreeMap<String, VolumeRequest>>,
    /// When failed tasks restart on their node.
    pub restart_policy: Option<RestartPolicy>,
    /// The behaviour when the node disconnects; null: its allocations are lost at once.
    pub disconnect: Option<DisconnectStrategy>,
    /// When failed allocations are replaced; null for system and sysbatch jobs.
    pub reschedule_policy: Option<ReschedulePolicy>,
    /// The disk that the tasks share.
    pub ephemeral_disk: Option<EphemeralDisk>,
    /// How changes are rolled out; null: all at once, without a deployment. Only service and system jobs have one.
    pub update: Option<UpdateStrategy>,
    /// How allocations leave a draining node. Only service jobs have one.
    pub migrate: Option<MigrateStrategy>,
    /// Networks that the tasks share; the scheduler uses the first.
    pub networks: Option<Vec<NetworkResource>>,
    /// Free-form metadata, over those of the job.
    pub meta: Option<BTreeMap<String, String>>,
    /// Services of the whole group.
    pub services: Option<Vec<Service>>,
    /// Nanoseconds between the deregistration of services and the stop of tasks; null: 0.
    pub shutdown_delay: Option<i64>,
    /// Nanoseconds after which a batch or sysbatch allocation is killed; null: never.
    pub max_run_duration: Option<i64>,
    /// Deprecated form of `disconnect.stop_on_client_after`; registration drops it.
    pub stop_after_client_disconnect: Option<i64>,
    /// Deprecated form of `disconnect.lost_after`; registration drops it.
    pub max_client_disconnect: Option<i64>,
    /// The bounds for scaling `count`; null: anything goes.
    pub scaling: Option<ScalingPolicy>,
    /// Consul settings of the group.
    pub consul: Option<Consul>,
    /// Deprecated form of `disconnect.replace`; registration drops it.
    pub prevent_reschedule_on_lost: Option<bool>,
    /// Members this version does not know, passed on as they came.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// How changed allocations are rolled out; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct UpdateStrategy {
    /// Without effect on rollouts, which go by health; must be more than 0.
    pub stagger: Option<i64>,
    /// How many allocations of a group are replaced at a time; 0: all at once, without a deployment.
    pub max_parallel: Option<i64>,
    /// How the health of an allocation is determined: `checks`, `task_states` or `manual`.
    pub health_check: Option<String>,
    /// How long an allocation must be well to count as healthy.
    pub min_healthy_time: Option<i64>,
    /// How long an allocation may take to become healthy.
    pub healthy_deadline: Option<i64>,
    /// How long a deployment may go without a newly healthy allocation; 0: the first unhealthy one fails it.
    pub progress_deadline: Option<i64>,
    /// Allocations of the new version that are placed beside the old ones until promotion; 0: none.
    pub canary: Option<i64>,
    /// Whether a failed deployment takes the job back to the last stable version.
    pub auto_revert: Option<bool>,
    /// Whether canaries are promoted as soon as all are healthy.
    pub auto_promote: Option<bool>,
}

/// The `Multiregion` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Multiregion {
    /// How the deployment moves from region to region.
    pub strategy: Option<MultiregionStrategy>,
    /// In the order of the job file.
    pub regions: Option<Vec<MultiregionRegion>>,
}

/// The `Spread` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Spread {
    /// The attribute over whose values allocations are spread: `${node.datacenter}`.
    pub attribute: String,
    /// From 1 to 100: how much this spread counts among several.
    pub weight: Option<i64>,
    /// The wanted shares; empty: an even spread.
    pub spread_target: Option<Vec<SpreadTarget>>,
}

/// The `PeriodicConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct PeriodicConfig {
    /// Whether launches happen on their own; if not, only on demand.
    pub enabled: Option<bool>,
    /// One cron expression; empty if `specs` are given.
    pub spec: Option<String>,
    /// Several cron expressions; the next time of any of them launches.
    pub specs: Option<Vec<String>>,
    /// How the expressions are read: `cron`.
    pub spec_type: Option<String>,
    /// Whether a launch is left out while an earlier child runs.
    pub prohibit_overlap: Option<bool>,
    /// The IANA time zone of the expressions: `UTC`.
    pub time_zone: Option<String>,
}

/// The `ParameterizedJobConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ParameterizedJobConfig {
    /// Whether a dispatch has a payload: `optional`, `required` or `forbidden`.
    pub payload: String,
    /// Keys that the meta of a dispatch must have.
    pub meta_required: Option<Vec<String>>,
    /// Further keys that the meta of a dispatch may have.
    pub meta_optional: Option<Vec<String>>,
}

/// When and how often a failed allocation is replaced; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ReschedulePolicy {
    /// Replacements within `interval`; 0 without `unlimited`: none.
    pub attempts: Option<i64>,
    /// The time in which `attempts` are counted.
    pub interval: Option<i64>,
    /// How long the first replacement waits.
    pub delay: Option<i64>,
    /// How the delay grows: `constant`, `exponential` or `fibonacci`.
    pub delay_function: Option<String>,
    /// The longest delay of growing ones.
    pub max_delay: Option<i64>,
    /// Whether replacements are not counted.
    pub unlimited: Option<bool>,
}

/// How allocations leave a draining node; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct MigrateStrategy {
    /// How many allocations of the group leave at a time.
    pub max_parallel: Option<i64>,
    /// How the health of a replacement is determined: `checks` or `task_states`.
    pub health_check: Option<String>,
    /// How long a replacement must be well to count as healthy.
    pub min_healthy_time: Option<i64>,
    /// How long a replacement may take to become healthy.
    pub healthy_deadline: Option<i64>,
}

/// The `JobUIConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobUiConfig {
    /// Markdown of at most 1000 bytes.
    pub description: String,
    /// In the order of the job file.
    pub links: Option<Vec<JobUiLink>>,
}

/// The `JobVersionTag` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobVersionTag {
    /// Unique among the versions of the job.
    pub name: String,
    /// Free text of at most 1000 bytes.
    pub description: String,
    /// Unix nanoseconds.
    pub tagged_time: i64,
}

/// One process (or container) of a task group.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Task {
    /// Unique in the group.
    pub name: String,
    /// The driver that runs the task: `raw_exec`, `docker`, …
    pub driver: String,
    /// The user to run as; empty: the driver's default.
    pub user: String,
    /// When the task runs; null: it is a main task.
    pub lifecycle: Option<TaskLifecycle>,
    /// The configuration of the driver; its keys depend on the driver.
    pub config: Option<BTreeMap<String, Value>>,
    /// Beside those of job and group; the whole group has to satisfy them.
    pub constraints: Option<Vec<Constraint>>,
    /// Beside those of job and group.
    pub affinities: Option<Vec<Affinity>>,
    /// Environment variables; values may contain `${…}`.
    pub env: Option<BTreeMap<String, String>>,
    /// Services of this task.
    pub services: Option<Vec<Service>>,
    /// The requested resources of the task.
    pub resources: Option<Resources>,
    /// When the task restarts; by default as the group says.
    pub restart_policy: Option<RestartPolicy>,
    /// Free-form metadata, over those of job and group.
    pub meta: Option<BTreeMap<String, String>>,
    /// Nanoseconds between the signal and the forced kill; the node's limit applies.
    pub kill_timeout: Option<i64>,
    /// How logs are rotated.
    pub log_config: Option<LogConfig>,
    /// The artifacts to download before the task starts, in this order.
    pub artifacts: Option<Vec<TaskArtifact>>,
    /// Vault settings; null: the task gets no Vault token.
    pub vault: Option<Vault>,
    /// Consul settings; null: those of the group.
    pub consul: Option<Consul>,
    /// Files that are rendered before the task starts.
    pub templates: Option<Vec<Template>>,
    /// Where the payload of a dispatched job is written; null: nowhere.
    pub dispatch_payload: Option<DispatchPayloadConfig>,
    /// Where volumes of the group are mounted.
    pub volume_mounts: Option<Vec<VolumeMount>>,
    /// Set if the task is a CSI plugin.
    #[serde(rename = "CSIPluginConfig", skip_serializing_if = "Option::is_none")]
    pub csi_plugin_config: Option<TaskCsiPluginConfig>,
    /// Whether the other tasks of the group stop when this one ends.
    pub leader: bool,
    /// Nanoseconds between the deregistration of services and the stop.
    pub shutdown_delay: i64,
    /// The signal that asks the task to stop; empty: the driver's default.
    pub kill_signal: String,
    /// The kind of a service mesh task: `connect-proxy:<service>`, … Empty: an ordinary task.
    pub kind: String,
    /// Policies for scaling CPU and memory of the task.
    pub scaling_policies: Option<Vec<ScalingPolicy>>,
    /// Secrets that are fetched before the task starts.
    pub secrets: Option<Vec<Secret>>,
    /// The identity `default`.
    pub identity: Option<WorkloadIdentity>,
    /// All other identities.
    pub identities: Option<Vec<WorkloadIdentity>>,
    /// Commands that operators can run in the task.
    pub actions: Option<Vec<Action>>,
    /// When the task is paused; validation rejects it, as it belongs to the enterprise edition.
    pub schedule: Option<TaskSchedule>,
    /// Members this version does not know, passed on as they came.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The `VolumeRequest` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeRequest {
    /// The name in the job file.
    pub name: String,
    /// `host` or `csi`.
    pub r#type: String,
    /// The name of a host volume, or the ID of a CSI volume.
    pub source: String,
    /// Whether tasks can only read.
    pub read_only: bool,
    /// Whether replacements get the same dynamic host volume.
    pub sticky: bool,
    /// How many nodes and allocations use the volume, and how: `single-node-writer`, …
    pub access_mode: String,
    /// `file-system` or `block-device`.
    pub attachment_mode: String,
    /// How a CSI volume is mounted; null: as the volume says.
    pub mount_options: Option<CsiMountOptions>,
    /// Whether the source is `<source>[<index>]`: one volume per allocation.
    pub per_alloc: bool,
}

/// How often a failed task restarts in place; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct RestartPolicy {
    /// The time in which `attempts` are counted.
    pub interval: Option<i64>,
    /// Restarts within `interval`.
    pub attempts: Option<i64>,
    /// How long a restart waits; the node adds a random part of up to 25 %.
    pub delay: Option<i64>,
    /// When the attempts are used up: `fail`, or `delay` until the interval is over.
    pub mode: Option<String>,
    /// Whether templates are rendered again before each restart.
    pub render_templates: Option<bool>,
}

/// The behaviour of allocations on a disconnected node; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct DisconnectStrategy {
    /// How long allocations of the node are `unknown` before they are lost; 0: they are lost at once.
    pub lost_after: Option<i64>,
    /// How long the node itself keeps them running without contact; null: for ever.
    pub stop_on_client_after: Option<i64>,
    /// Whether unknown allocations are replaced meanwhile; null: true.
    pub replace: Option<bool>,
    /// Which one stays when the node returns: `best_score`, `longest_running`, `keep_original` or `keep_replacement`.
    pub reconcile: Option<String>,
}

/// The `EphemeralDisk` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct EphemeralDisk {
    /// Whether replacements are placed on the same node, if possible, and get the data.
    pub sticky: Option<bool>,
    /// Whether the data move to replacements on other nodes.
    pub migrate: Option<bool>,
    /// MB that are reserved on the node.
    #[serde(rename = "SizeMB")]
    pub size_mb: Option<i64>,
}

/// A network of a group, task or node: mode, ports, bandwidth in MBit/s.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct NetworkResource {
    /// `host`, `bridge`, `none` or `cni/<network>`; empty: `host`.
    pub mode: String,
    /// The network interface.
    pub device: String,
    /// The subnet of the interface.
    #[serde(rename = "CIDR")]
    pub cidr: String,
    /// The address on the host.
    #[serde(rename = "IP")]
    pub ip: String,
    /// The `resolv.conf` of tasks; null: the host's.
    #[serde(rename = "DNS")]
    pub dns: Option<DnsConfig>,
    /// Ports with a number that the job chose.
    pub reserved_ports: Option<Vec<Port>>,
    /// Ports with a number that the scheduler chooses.
    pub dynamic_ports: Option<Vec<Port>>,
    /// The host name inside of the network namespace; may contain `${…}`.
    pub hostname: String,
    /// Deprecated: bandwidth in MBit/s.
    #[serde(rename = "MBits")]
    pub mbits: Option<i64>,
    /// Arguments for CNI plugins.
    #[serde(rename = "CNI")]
    pub cni: Option<CniConfig>,
}

/// The `ScalingPolicy` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScalingPolicy {
    /// The least count.
    pub min: Option<i64>,
    /// The largest count; -1: not given, which validation rejects.
    pub max: Option<i64>,
    /// The policy for an autoscaler, in the autoscaler's format.
    pub policy: Option<BTreeMap<String, Value>>,
    /// Whether autoscalers may act.
    pub enabled: Option<bool>,
    /// `horizontal` (the count of a group), `vertical_cpu` or `vertical_mem` (resources of a task).
    pub r#type: String,
    /// A UUID that the server chooses.
    #[serde(rename = "ID")]
    pub id: String,
    /// Without effect: `target` names the namespace.
    pub namespace: String,
    /// The scaling target: `Namespace`, `Job`, `Group` and, if vertical, `Task`.
    pub target: Option<BTreeMap<String, String>>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// The `Consul` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Consul {
    /// The Consul namespace.
    pub namespace: String,
    /// The Consul cluster: `default` or the name of another one of the agent's configuration.
    pub cluster: String,
    /// The Consul admin partition; empty: any.
    pub partition: String,
}

/// The `MultiregionStrategy` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct MultiregionStrategy {
    /// How many regions are deployed to at a time; 0: all.
    pub max_parallel: Option<i64>,
    /// The behaviour of other regions when one fails: `fail_all`, `fail_local` or empty.
    pub on_failure: Option<String>,
}

/// The `MultiregionRegion` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct MultiregionRegion {
    /// The region.
    pub name: String,
    /// The count of groups whose own count is 0.
    pub count: Option<i64>,
    /// Datacenters in place of the job's.
    pub datacenters: Option<Vec<String>>,
    /// The node pool in place of the job's.
    pub node_pool: String,
    /// Entries over those of the job's `meta`.
    pub meta: Option<BTreeMap<String, String>>,
}

/// The `SpreadTarget` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct SpreadTarget {
    /// A value of the attribute.
    pub value: String,
    /// The wanted share of the allocations, 0 to 100.
    pub percent: u64,
}

/// The `JobUILink` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobUiLink {
    /// The text of the link.
    pub label: String,
    /// Where the link leads.
    #[serde(rename = "URL")]
    pub url: String,
}

/// The `TaskLifecycle` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskLifecycle {
    /// `prestart`, `poststart` or `poststop`.
    pub hook: String,
    /// Whether the task runs as long as the main tasks; if not, it ends by itself.
    pub sidecar: bool,
}

/// The requested resources of a task: MHz, MB, cores, networks, devices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Resources {
    /// MHz; 0 if `cores` are given.
    #[serde(rename = "CPU")]
    pub cpu: Option<i64>,
    /// Cores that no other task may use; 0: none.
    pub cores: Option<i64>,
    /// MB that are reserved.
    #[serde(rename = "MemoryMB")]
    pub memory_mb: Option<i64>,
    /// MB that the task may use at most, if the cluster allows it; 0: `memory_mb`.
    #[serde(rename = "MemoryMaxMB")]
    pub memory_max_mb: Option<i64>,
    /// MB; always 0 in stored jobs, see [`EphemeralDisk`].
    #[serde(rename = "DiskMB")]
    pub disk_mb: Option<i64>,
    /// Deprecated: networks of the task's own.
    pub networks: Option<Vec<NetworkResource>>,
    /// Devices that the task needs.
    pub devices: Option<Vec<RequestedDevice>>,
    /// How cores and memory are chosen on NUMA machines.
    #[serde(rename = "NUMA")]
    pub numa: Option<NumaResource>,
    /// MB of the secrets directory.
    #[serde(rename = "SecretsMB")]
    pub secrets_mb: Option<i64>,
    /// Without effect.
    #[serde(rename = "IOPS")]
    pub iops: Option<i64>,
}

/// The `LogConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct LogConfig {
    /// How many rotated files are kept per stream.
    pub max_files: Option<i64>,
    /// MB per file.
    #[serde(rename = "MaxFileSizeMB")]
    pub max_file_size_mb: Option<i64>,
    /// Without effect.
    pub enabled: Option<bool>,
    /// Whether output is dropped instead of logged.
    pub disabled: Option<bool>,
}

/// The `TaskArtifact` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskArtifact {
    /// The URL to download; may contain `${…}`.
    pub getter_source: Option<String>,
    /// Options of the download: `checksum`, `archive`, …
    pub getter_options: Option<BTreeMap<String, String>>,
    /// HTTP headers of the request.
    pub getter_headers: Option<BTreeMap<String, String>>,
    /// The mode of the source: `any`, `file` or `dir`.
    pub getter_mode: Option<String>,
    /// Whether certificates are accepted unverified.
    pub getter_insecure: Option<bool>,
    /// Where it goes, relative to the task directory.
    pub relative_dest: Option<String>,
    /// Whether the files belong to the user of the task afterwards.
    pub chown: bool,
}

/// The `Vault` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Vault {
    /// Vault policies; registration drops them.
    pub policies: Option<Vec<String>>,
    /// The Vault role to log in with; empty: that of the agent's configuration.
    pub role: String,
    /// The Vault namespace; empty: the job's.
    pub namespace: Option<String>,
    /// The Vault cluster: `default` or the name of another one of the agent's configuration.
    pub cluster: String,
    /// Whether the task gets `VAULT_TOKEN`.
    pub env: Option<bool>,
    /// Whether the token is kept out of the file `secrets/vault_token`.
    pub disable_file: Option<bool>,
    /// The action when the token changes: `restart`, `signal` or `noop`.
    pub change_mode: Option<String>,
    /// The signal of `signal`: `SIGHUP`.
    pub change_signal: Option<String>,
    /// Whether the token is left to expire instead of being renewed.
    pub allow_token_expiration: Option<bool>,
}

/// The `Template` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Template {
    /// The file with the template, relative to the task directory; empty: `embedded_tmpl`.
    pub source_path: Option<String>,
    /// Where the result goes, relative to the task directory.
    pub dest_path: Option<String>,
    /// The text of the template.
    pub embedded_tmpl: Option<String>,
    /// The action when the result changes: `restart`, `signal`, `script` or `noop`.
    pub change_mode: Option<String>,
    /// The script to run if `change_mode` is `script`.
    pub change_script: Option<ChangeScript>,
    /// The signal of `signal`, in capitals.
    pub change_signal: Option<String>,
    /// Whether the template is rendered once and never again.
    pub once: Option<bool>,
    /// The longest random delay before a change takes effect, in nanoseconds.
    pub splay: Option<i64>,
    /// The mode of the file, octal: `0644`.
    pub perms: Option<String>,
    /// The owner of the file; null: the agent's user.
    pub uid: Option<i64>,
    /// The group of the file; null: the agent's group.
    pub gid: Option<i64>,
    /// The left delimiter of template actions: `{{`.
    pub left_delim: Option<String>,
    /// The right delimiter of template actions: `}}`.
    pub right_delim: Option<String>,
    /// Whether the result is lines `KEY=value` for the environment of the task.
    pub envvars: Option<bool>,
    /// Deprecated, without effect.
    pub vault_grace: Option<i64>,
    /// How long to wait for further changes; null: as the agent's configuration says.
    pub wait: Option<WaitConfig>,
    /// Whether a missing key of a map fails the template.
    pub err_missing_key: Option<bool>,
}

/// The `DispatchPayloadConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct DispatchPayloadConfig {
    /// The file for the payload, relative to the task's `local` directory.
    pub file: String,
}

/// The `VolumeMount` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeMount {
    /// The name of the volume in the group; empty: no mount.
    pub volume: Option<String>,
    /// The path in the task.
    pub destination: Option<String>,
    /// Whether the task can only read.
    pub read_only: Option<bool>,
    /// `private`, `host-to-task` or `bidirectional`.
    pub propagation_mode: Option<String>,
    /// `z` (shared), `Z` (private) or empty.
    #[serde(rename = "SELinuxLabel")]
    pub selinux_label: Option<String>,
}

/// The `TaskCSIPluginConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskCsiPluginConfig {
    /// The plugin's ID, which volumes name.
    #[serde(rename = "ID")]
    pub id: String,
    /// `controller`, `node` or `monolith`.
    pub r#type: String,
    /// Where the task makes its socket.
    pub mount_dir: String,
    /// Where the task stages and publishes volumes.
    pub stage_publish_base_dir: String,
    /// Nanoseconds that the plugin may take to become healthy.
    pub health_timeout: i64,
}

/// The `Secret` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Secret {
    /// Names the secret in `${secret.<name>.<key>}`.
    pub name: String,
    /// The provider: `nomad`, `vault` or a plugin.
    pub provider: String,
    /// Where the provider finds it.
    pub path: String,
    /// The configuration of the provider, in the provider's format.
    pub config: Option<BTreeMap<String, Value>>,
    /// Environment variables of a plugin that is the provider.
    pub env: Option<BTreeMap<String, String>>,
}

/// The `WorkloadIdentity` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct WorkloadIdentity {
    /// `default`, or a name that is unique in the task.
    pub name: String,
    /// The audience of the token: its `aud` claims.
    pub audience: Option<Vec<String>>,
    /// The action when the token is renewed: `noop`, `signal` or `restart`; empty: `noop`.
    pub change_mode: String,
    /// The signal of `signal`, in capitals.
    pub change_signal: String,
    /// Whether the task gets `NOMAD_TOKEN` or `NOMAD_TOKEN_<name>`.
    pub env: bool,
    /// Whether the token is written to a file.
    pub file: bool,
    /// The file, relative to the task directory; empty: `secrets/nomad_token` or `secrets/nomad_<name>.jwt`.
    pub filepath: String,
    /// The service the identity is of; empty: the task.
    pub service_name: String,
    /// Nanoseconds that tokens live; 0: they do not expire.
    #[serde(rename = "TTL")]
    pub ttl: i64,
    /// Optional claims of the namespace that the token carries.
    pub extra_claims: Option<Vec<String>>,
}

/// The `Action` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Action {
    /// Unique in the task.
    pub name: String,
    /// The program; may contain `${…}`.
    pub command: String,
    /// Arguments of the program; may contain `${…}`.
    pub args: Option<Vec<String>>,
}

/// The `TaskSchedule` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskSchedule {
    /// When the task runs.
    pub cron: Option<TaskScheduleCron>,
}

/// The `CSIMountOptions` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiMountOptions {
    /// The file system: `ext4`.
    #[serde(rename = "FSType")]
    pub fs_type: String,
    /// Options of the mount; answers show `[REDACTED]` instead.
    pub mount_flags: Option<Vec<String>>,
}

/// The `DNSConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct DnsConfig {
    /// Addresses of name servers.
    pub servers: Option<Vec<String>>,
    /// Search domains.
    pub searches: Option<Vec<String>>,
    /// Options of the resolver.
    pub options: Option<Vec<String>>,
}

/// A port of a network; `value` 0 means dynamic, `to` is the port inside.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct Port {
    /// Unique in the group.
    pub label: String,
    /// The number on the host.
    pub value: i64,
    /// The number inside of the network namespace; -1: that on the host; 0: none was asked for.
    pub to: i64,
    /// The host network whose address the port is bound to: `default`.
    pub host_network: String,
    /// Whether other allocations of the node may use the same number.
    pub ignore_collision: bool,
}

/// The `CNIConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct CniConfig {
    /// Passed to plugins as `CNI_ARGS`.
    pub args: Option<BTreeMap<String, String>>,
}

/// The `RequestedDevice` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct RequestedDevice {
    /// `<type>`, `<vendor>/<type>` or `<vendor>/<type>/<model>`.
    pub name: String,
    /// How many instances.
    pub count: Option<u64>,
    /// Constraints on attributes of the device: `${device.attr.…}`.
    pub constraints: Option<Vec<Constraint>>,
    /// Affinities for attributes of the device.
    pub affinities: Option<Vec<Affinity>>,
}

/// The `NUMAResource` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct NumaResource {
    /// `none`, `prefer` or `require`; validation accepts `none` only.
    pub affinity: String,
    /// Names of devices that belong near the cores.
    pub devices: Option<Vec<String>>,
}

/// The `ChangeScript` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct ChangeScript {
    /// The program in the task.
    pub command: Option<String>,
    /// Arguments of the program.
    pub args: Option<Vec<String>>,
    /// Nanoseconds that the script may take.
    pub timeout: Option<i64>,
    /// Whether a failing script fails the task.
    pub fail_on_error: Option<bool>,
    /// Whether the script runs after the first rendering, too.
    pub run_on_first_render: Option<bool>,
}

/// The `WaitConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct WaitConfig {
    /// Nanoseconds without further changes after which the template is rendered.
    pub min: Option<i64>,
    /// Nanoseconds after which the template is rendered in any case.
    pub max: Option<i64>,
}

/// The `TaskScheduleCron` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskScheduleCron {
    /// Cron expression of the times at which the task starts.
    pub start: String,
    /// Minute and hour at which the task is paused.
    pub end: String,
    /// The IANA time zone of both.
    pub timezone: String,
}
