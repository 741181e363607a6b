//! Jobs as clients send them: every optional value may be null until it is canonicalised.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::json::or_default;
use super::service::*;

/// A job: what an operator submits and the schedulers work on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Job {
    pub region: Option<String>,
    pub namespace: Option<String>,
    #[serde(rename = "ID")]
    pub id: Option<String>,
    pub name: Option<String>,
    pub r#type: Option<String>,
    pub priority: Option<i64>,
    pub all_at_once: Option<bool>,
    pub datacenters: Option<Vec<String>>,
    pub node_pool: Option<String>,
    pub constraints: Option<Vec<Constraint>>,
    pub affinities: Option<Vec<Affinity>>,
    pub task_groups: Option<Vec<TaskGroup>>,
    pub update: Option<UpdateStrategy>,
    pub multiregion: Option<Multiregion>,
    pub spreads: Option<Vec<Spread>>,
    pub periodic: Option<PeriodicConfig>,
    pub parameterized_job: Option<ParameterizedJobConfig>,
    pub reschedule: Option<ReschedulePolicy>,
    pub migrate: Option<MigrateStrategy>,
    pub meta: Option<BTreeMap<String, String>>,
    #[serde(rename = "UI")]
    pub ui: Option<JobUiConfig>,
    pub stop: Option<bool>,
    #[serde(rename = "ParentID")]
    pub parent_id: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub dispatched: bool,
    pub dispatch_idempotency_token: Option<String>,
    pub payload: Option<String>,
    pub consul_namespace: Option<String>,
    pub vault_namespace: Option<String>,
    #[serde(rename = "NomadTokenID")]
    pub nomad_token_id: Option<String>,
    pub status: Option<String>,
    pub status_description: Option<String>,
    pub stable: Option<bool>,
    pub version: Option<u64>,
    pub submit_time: Option<i64>,
    pub create_index: Option<u64>,
    pub modify_index: Option<u64>,
    pub job_modify_index: Option<u64>,
    pub version_tag: Option<JobVersionTag>,
    /// Members this version does not know, passed on as they came.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The `Constraint` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Constraint {
    #[serde(rename = "LTarget", deserialize_with = "or_default")]
    pub ltarget: String,
    #[serde(rename = "RTarget", deserialize_with = "or_default")]
    pub rtarget: String,
    #[serde(deserialize_with = "or_default")]
    pub operand: String,
}

/// The `Affinity` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Affinity {
    #[serde(rename = "LTarget", deserialize_with = "or_default")]
    pub ltarget: String,
    #[serde(rename = "RTarget", deserialize_with = "or_default")]
    pub rtarget: String,
    #[serde(deserialize_with = "or_default")]
    pub operand: String,
    pub weight: Option<i64>,
}

/// A set of tasks that are placed together; `count` copies of it run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroup {
    pub name: Option<String>,
    pub count: Option<i64>,
    pub constraints: Option<Vec<Constraint>>,
    pub affinities: Option<Vec<Affinity>>,
    pub tasks: Option<Vec<Task>>,
    pub spreads: Option<Vec<Spread>>,
    pub volumes: Option<BTreeMap<String, VolumeRequest>>,
    pub restart_policy: Option<RestartPolicy>,
    pub disconnect: Option<DisconnectStrategy>,
    pub reschedule_policy: Option<ReschedulePolicy>,
    pub ephemeral_disk: Option<EphemeralDisk>,
    pub update: Option<UpdateStrategy>,
    pub migrate: Option<MigrateStrategy>,
    pub networks: Option<Vec<NetworkResource>>,
    pub meta: Option<BTreeMap<String, String>>,
    pub services: Option<Vec<Service>>,
    pub shutdown_delay: Option<i64>,
    pub max_run_duration: Option<i64>,
    pub stop_after_client_disconnect: Option<i64>,
    pub max_client_disconnect: Option<i64>,
    pub scaling: Option<ScalingPolicy>,
    pub consul: Option<Consul>,
    pub prevent_reschedule_on_lost: Option<bool>,
    /// Members this version does not know, passed on as they came.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// How changed allocations are rolled out; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct UpdateStrategy {
    pub stagger: Option<i64>,
    pub max_parallel: Option<i64>,
    pub health_check: Option<String>,
    pub min_healthy_time: Option<i64>,
    pub healthy_deadline: Option<i64>,
    pub progress_deadline: Option<i64>,
    pub canary: Option<i64>,
    pub auto_revert: Option<bool>,
    pub auto_promote: Option<bool>,
}

/// The `Multiregion` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Multiregion {
    pub strategy: Option<MultiregionStrategy>,
    pub regions: Option<Vec<MultiregionRegion>>,
}

/// The `Spread` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Spread {
    #[serde(deserialize_with = "or_default")]
    pub attribute: String,
    pub weight: Option<i64>,
    pub spread_target: Option<Vec<SpreadTarget>>,
}

/// The `PeriodicConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PeriodicConfig {
    pub enabled: Option<bool>,
    pub spec: Option<String>,
    pub specs: Option<Vec<String>>,
    pub spec_type: Option<String>,
    pub prohibit_overlap: Option<bool>,
    pub time_zone: Option<String>,
}

/// The `ParameterizedJobConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ParameterizedJobConfig {
    #[serde(deserialize_with = "or_default")]
    pub payload: String,
    pub meta_required: Option<Vec<String>>,
    pub meta_optional: Option<Vec<String>>,
}

/// When and how often a failed allocation is replaced; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ReschedulePolicy {
    pub attempts: Option<i64>,
    pub interval: Option<i64>,
    pub delay: Option<i64>,
    pub delay_function: Option<String>,
    pub max_delay: Option<i64>,
    pub unlimited: Option<bool>,
}

/// How allocations leave a draining node; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MigrateStrategy {
    pub max_parallel: Option<i64>,
    pub health_check: Option<String>,
    pub min_healthy_time: Option<i64>,
    pub healthy_deadline: Option<i64>,
}

/// The `JobUIConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobUiConfig {
    #[serde(deserialize_with = "or_default")]
    pub description: String,
    pub links: Option<Vec<JobUiLink>>,
}

/// The `JobVersionTag` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobVersionTag {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub description: String,
    #[serde(deserialize_with = "or_default")]
    pub tagged_time: i64,
}

/// One process (or container) of a task group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Task {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub driver: String,
    #[serde(deserialize_with = "or_default")]
    pub user: String,
    pub lifecycle: Option<TaskLifecycle>,
    pub config: Option<BTreeMap<String, Value>>,
    pub constraints: Option<Vec<Constraint>>,
    pub affinities: Option<Vec<Affinity>>,
    pub env: Option<BTreeMap<String, String>>,
    pub services: Option<Vec<Service>>,
    pub resources: Option<Resources>,
    pub restart_policy: Option<RestartPolicy>,
    pub meta: Option<BTreeMap<String, String>>,
    pub kill_timeout: Option<i64>,
    pub log_config: Option<LogConfig>,
    pub artifacts: Option<Vec<TaskArtifact>>,
    pub vault: Option<Vault>,
    pub consul: Option<Consul>,
    pub templates: Option<Vec<Template>>,
    pub dispatch_payload: Option<DispatchPayloadConfig>,
    pub volume_mounts: Option<Vec<VolumeMount>>,
    #[serde(rename = "CSIPluginConfig", skip_serializing_if = "Option::is_none")]
    pub csi_plugin_config: Option<TaskCsiPluginConfig>,
    #[serde(deserialize_with = "or_default")]
    pub leader: bool,
    #[serde(deserialize_with = "or_default")]
    pub shutdown_delay: i64,
    #[serde(deserialize_with = "or_default")]
    pub kill_signal: String,
    #[serde(deserialize_with = "or_default")]
    pub kind: String,
    pub scaling_policies: Option<Vec<ScalingPolicy>>,
    pub secrets: Option<Vec<Secret>>,
    pub identity: Option<WorkloadIdentity>,
    pub identities: Option<Vec<WorkloadIdentity>>,
    pub actions: Option<Vec<Action>>,
    pub schedule: Option<TaskSchedule>,
    /// Members this version does not know, passed on as they came.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// The `VolumeRequest` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeRequest {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub source: String,
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
    #[serde(deserialize_with = "or_default")]
    pub sticky: bool,
    #[serde(deserialize_with = "or_default")]
    pub access_mode: String,
    #[serde(deserialize_with = "or_default")]
    pub attachment_mode: String,
    pub mount_options: Option<CsiMountOptions>,
    #[serde(deserialize_with = "or_default")]
    pub per_alloc: bool,
}

/// How often a failed task restarts in place; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RestartPolicy {
    pub interval: Option<i64>,
    pub attempts: Option<i64>,
    pub delay: Option<i64>,
    pub mode: Option<String>,
    pub render_templates: Option<bool>,
}

/// What happens to allocations of a node that lost contact; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DisconnectStrategy {
    pub lost_after: Option<i64>,
    pub stop_on_client_after: Option<i64>,
    pub replace: Option<bool>,
    pub reconcile: Option<String>,
}

/// The `EphemeralDisk` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EphemeralDisk {
    pub sticky: Option<bool>,
    pub migrate: Option<bool>,
    #[serde(rename = "SizeMB")]
    pub size_mb: Option<i64>,
}

/// A network of a group, task or node: mode, ports, bandwidth in MBit/s.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NetworkResource {
    #[serde(deserialize_with = "or_default")]
    pub mode: String,
    #[serde(deserialize_with = "or_default")]
    pub device: String,
    #[serde(rename = "CIDR", deserialize_with = "or_default")]
    pub cidr: String,
    #[serde(rename = "IP", deserialize_with = "or_default")]
    pub ip: String,
    #[serde(rename = "DNS")]
    pub dns: Option<DnsConfig>,
    pub reserved_ports: Option<Vec<Port>>,
    pub dynamic_ports: Option<Vec<Port>>,
    #[serde(deserialize_with = "or_default")]
    pub hostname: String,
    #[serde(rename = "MBits")]
    pub mbits: Option<i64>,
    #[serde(rename = "CNI")]
    pub cni: Option<CniConfig>,
}

/// The `ScalingPolicy` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScalingPolicy {
    pub min: Option<i64>,
    pub max: Option<i64>,
    pub policy: Option<BTreeMap<String, Value>>,
    pub enabled: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    pub target: Option<BTreeMap<String, String>>,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// The `Consul` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Consul {
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(deserialize_with = "or_default")]
    pub cluster: String,
    #[serde(deserialize_with = "or_default")]
    pub partition: String,
}

/// The `MultiregionStrategy` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MultiregionStrategy {
    pub max_parallel: Option<i64>,
    pub on_failure: Option<String>,
}

/// The `MultiregionRegion` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MultiregionRegion {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    pub count: Option<i64>,
    pub datacenters: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub node_pool: String,
    pub meta: Option<BTreeMap<String, String>>,
}

/// The `SpreadTarget` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SpreadTarget {
    #[serde(deserialize_with = "or_default")]
    pub value: String,
    #[serde(deserialize_with = "or_default")]
    pub percent: u64,
}

/// The `JobUILink` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobUiLink {
    #[serde(deserialize_with = "or_default")]
    pub label: String,
    #[serde(rename = "URL", deserialize_with = "or_default")]
    pub url: String,
}

/// The `TaskLifecycle` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskLifecycle {
    #[serde(deserialize_with = "or_default")]
    pub hook: String,
    #[serde(deserialize_with = "or_default")]
    pub sidecar: bool,
}

/// What a task asks for: MHz, MB, cores, networks, devices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Resources {
    #[serde(rename = "CPU")]
    pub cpu: Option<i64>,
    pub cores: Option<i64>,
    #[serde(rename = "MemoryMB")]
    pub memory_mb: Option<i64>,
    #[serde(rename = "MemoryMaxMB")]
    pub memory_max_mb: Option<i64>,
    #[serde(rename = "DiskMB")]
    pub disk_mb: Option<i64>,
    pub networks: Option<Vec<NetworkResource>>,
    pub devices: Option<Vec<RequestedDevice>>,
    #[serde(rename = "NUMA")]
    pub numa: Option<NumaResource>,
    #[serde(rename = "SecretsMB")]
    pub secrets_mb: Option<i64>,
    #[serde(rename = "IOPS")]
    pub iops: Option<i64>,
}

/// The `LogConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LogConfig {
    pub max_files: Option<i64>,
    #[serde(rename = "MaxFileSizeMB")]
    pub max_file_size_mb: Option<i64>,
    pub enabled: Option<bool>,
    pub disabled: Option<bool>,
}

/// The `TaskArtifact` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskArtifact {
    pub getter_source: Option<String>,
    pub getter_options: Option<BTreeMap<String, String>>,
    pub getter_headers: Option<BTreeMap<String, String>>,
    pub getter_mode: Option<String>,
    pub getter_insecure: Option<bool>,
    pub relative_dest: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub chown: bool,
}

/// The `Vault` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Vault {
    pub policies: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub role: String,
    pub namespace: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub cluster: String,
    pub env: Option<bool>,
    pub disable_file: Option<bool>,
    pub change_mode: Option<String>,
    pub change_signal: Option<String>,
    pub allow_token_expiration: Option<bool>,
}

/// The `Template` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Template {
    pub source_path: Option<String>,
    pub dest_path: Option<String>,
    pub embedded_tmpl: Option<String>,
    pub change_mode: Option<String>,
    pub change_script: Option<ChangeScript>,
    pub change_signal: Option<String>,
    pub once: Option<bool>,
    pub splay: Option<i64>,
    pub perms: Option<String>,
    pub uid: Option<i64>,
    pub gid: Option<i64>,
    pub left_delim: Option<String>,
    pub right_delim: Option<String>,
    pub envvars: Option<bool>,
    pub vault_grace: Option<i64>,
    pub wait: Option<WaitConfig>,
    pub err_missing_key: Option<bool>,
}

/// The `DispatchPayloadConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DispatchPayloadConfig {
    #[serde(deserialize_with = "or_default")]
    pub file: String,
}

/// The `VolumeMount` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeMount {
    pub volume: Option<String>,
    pub destination: Option<String>,
    pub read_only: Option<bool>,
    pub propagation_mode: Option<String>,
    #[serde(rename = "SELinuxLabel")]
    pub selinux_label: Option<String>,
}

/// The `TaskCSIPluginConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskCsiPluginConfig {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub mount_dir: String,
    #[serde(deserialize_with = "or_default")]
    pub stage_publish_base_dir: String,
    #[serde(deserialize_with = "or_default")]
    pub health_timeout: i64,
}

/// The `Secret` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Secret {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub provider: String,
    #[serde(deserialize_with = "or_default")]
    pub path: String,
    pub config: Option<BTreeMap<String, Value>>,
    pub env: Option<BTreeMap<String, String>>,
}

/// The `WorkloadIdentity` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct WorkloadIdentity {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    pub audience: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub change_mode: String,
    #[serde(deserialize_with = "or_default")]
    pub change_signal: String,
    #[serde(deserialize_with = "or_default")]
    pub env: bool,
    #[serde(deserialize_with = "or_default")]
    pub file: bool,
    #[serde(deserialize_with = "or_default")]
    pub filepath: String,
    #[serde(deserialize_with = "or_default")]
    pub service_name: String,
    #[serde(rename = "TTL", deserialize_with = "or_default")]
    pub ttl: i64,
    pub extra_claims: Option<Vec<String>>,
}

/// The `Action` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Action {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub command: String,
    pub args: Option<Vec<String>>,
}

/// The `TaskSchedule` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskSchedule {
    pub cron: Option<TaskScheduleCron>,
}

/// The `CSIMountOptions` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiMountOptions {
    #[serde(rename = "FSType", deserialize_with = "or_default")]
    pub fs_type: String,
    pub mount_flags: Option<Vec<String>>,
}

/// The `DNSConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DnsConfig {
    pub servers: Option<Vec<String>>,
    pub searches: Option<Vec<String>>,
    pub options: Option<Vec<String>>,
}

/// A port of a network; `value` 0 means dynamic, `to` is the port inside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Port {
    #[serde(deserialize_with = "or_default")]
    pub label: String,
    #[serde(deserialize_with = "or_default")]
    pub value: i64,
    #[serde(deserialize_with = "or_default")]
    pub to: i64,
    #[serde(deserialize_with = "or_default")]
    pub host_network: String,
    #[serde(deserialize_with = "or_default")]
    pub ignore_collision: bool,
}

/// The `CNIConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CniConfig {
    pub args: Option<BTreeMap<String, String>>,
}

/// The `RequestedDevice` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RequestedDevice {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    pub count: Option<u64>,
    pub constraints: Option<Vec<Constraint>>,
    pub affinities: Option<Vec<Affinity>>,
}

/// The `NUMAResource` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NumaResource {
    #[serde(deserialize_with = "or_default")]
    pub affinity: String,
    pub devices: Option<Vec<String>>,
}

/// The `ChangeScript` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ChangeScript {
    pub command: Option<String>,
    pub args: Option<Vec<String>>,
    pub timeout: Option<i64>,
    pub fail_on_error: Option<bool>,
    pub run_on_first_render: Option<bool>,
}

/// The `WaitConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct WaitConfig {
    pub min: Option<i64>,
    pub max: Option<i64>,
}

/// The `TaskScheduleCron` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskScheduleCron {
    #[serde(deserialize_with = "or_default")]
    pub start: String,
    #[serde(deserialize_with = "or_default")]
    pub end: String,
    #[serde(deserialize_with = "or_default")]
    pub timezone: String,
}
