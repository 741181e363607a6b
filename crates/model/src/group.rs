//! Task groups and tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::job::*;
use super::json::{nil, or_default};
use super::resources::*;
use super::service::*;

/// A set of tasks that are placed together; `count` copies of it run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroup {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub count: i64,
    pub update: Option<UpdateStrategy>,
    pub migrate: Option<MigrateStrategy>,
    #[serde(with = "nil")]
    pub constraints: Vec<Constraint>,
    pub scaling: Option<ScalingPolicy>,
    pub restart_policy: Option<RestartPolicy>,
    pub disconnect: Option<DisconnectStrategy>,
    #[serde(with = "nil")]
    pub tasks: Vec<Task>,
    pub ephemeral_disk: Option<EphemeralDisk>,
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
    pub reschedule_policy: Option<ReschedulePolicy>,
    #[serde(with = "nil")]
    pub affinities: Vec<Affinity>,
    #[serde(with = "nil")]
    pub spreads: Vec<Spread>,
    #[serde(with = "nil")]
    pub networks: Vec<NetworkResource>,
    pub consul: Option<Consul>,
    #[serde(with = "nil")]
    pub services: Vec<Service>,
    pub volumes: Option<BTreeMap<String, VolumeRequest>>,
    pub shutdown_delay: Option<i64>,
    pub max_run_duration: Option<i64>,
    pub stop_after_client_disconnect: Option<i64>,
    pub max_client_disconnect: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    pub prevent_reschedule_on_lost: bool,
}

/// How allocations leave a draining node; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MigrateStrategy {
    #[serde(deserialize_with = "or_default")]
    pub max_parallel: i64,
    #[serde(deserialize_with = "or_default")]
    pub health_check: String,
    #[serde(deserialize_with = "or_default")]
    pub min_healthy_time: i64,
    #[serde(deserialize_with = "or_default")]
    pub healthy_deadline: i64,
}

/// How often a failed task restarts in place; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RestartPolicy {
    #[serde(deserialize_with = "or_default")]
    pub attempts: i64,
    #[serde(deserialize_with = "or_default")]
    pub interval: i64,
    #[serde(deserialize_with = "or_default")]
    pub delay: i64,
    #[serde(deserialize_with = "or_default")]
    pub mode: String,
    #[serde(deserialize_with = "or_default")]
    pub render_templates: bool,
}

/// What happens to allocations of a node that lost contact; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DisconnectStrategy {
    #[serde(deserialize_with = "or_default")]
    pub lost_after: i64,
    pub stop_on_client_after: Option<i64>,
    pub replace: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    pub reconcile: String,
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
    #[serde(with = "nil")]
    pub config: BTreeMap<String, Value>,
    #[serde(with = "nil")]
    pub env: BTreeMap<String, String>,
    #[serde(with = "nil")]
    pub services: Vec<Service>,
    pub vault: Option<Vault>,
    #[serde(with = "nil")]
    pub secrets: Vec<Secret>,
    pub consul: Option<Consul>,
    #[serde(with = "nil")]
    pub templates: Vec<Template>,
    #[serde(with = "nil")]
    pub constraints: Vec<Constraint>,
    #[serde(with = "nil")]
    pub affinities: Vec<Affinity>,
    pub resources: Option<Resources>,
    pub restart_policy: Option<RestartPolicy>,
    pub dispatch_payload: Option<DispatchPayloadConfig>,
    pub lifecycle: Option<TaskLifecycleConfig>,
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub kill_timeout: i64,
    pub log_config: Option<LogConfig>,
    #[serde(with = "nil")]
    pub artifacts: Vec<TaskArtifact>,
    #[serde(deserialize_with = "or_default")]
    pub leader: bool,
    #[serde(deserialize_with = "or_default")]
    pub shutdown_delay: i64,
    #[serde(with = "nil")]
    pub volume_mounts: Vec<VolumeMount>,
    #[serde(with = "nil")]
    pub scaling_policies: Vec<ScalingPolicy>,
    #[serde(deserialize_with = "or_default")]
    pub kill_signal: String,
    #[serde(deserialize_with = "or_default")]
    pub kind: String,
    #[serde(rename = "CSIPluginConfig")]
    pub csi_plugin_config: Option<TaskCsiPluginConfig>,
    pub identity: Option<WorkloadIdentity>,
    #[serde(with = "nil")]
    pub identities: Vec<WorkloadIdentity>,
    #[serde(with = "nil")]
    pub actions: Vec<Action>,
    pub schedule: Option<TaskSchedule>,
}

/// When and how often a failed allocation is replaced; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ReschedulePolicy {
    #[serde(deserialize_with = "or_default")]
    pub attempts: i64,
    #[serde(deserialize_with = "or_default")]
    pub interval: i64,
    #[serde(deserialize_with = "or_default")]
    pub delay: i64,
    #[serde(deserialize_with = "or_default")]
    pub delay_function: String,
    #[serde(deserialize_with = "or_default")]
    pub max_delay: i64,
    #[serde(deserialize_with = "or_default")]
    pub unlimited: bool,
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

/// The `Vault` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Vault {
    #[serde(deserialize_with = "or_default")]
    pub role: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(deserialize_with = "or_default")]
    pub cluster: String,
    #[serde(deserialize_with = "or_default")]
    pub env: bool,
    #[serde(deserialize_with = "or_default")]
    pub disable_file: bool,
    #[serde(deserialize_with = "or_default")]
    pub change_mode: String,
    #[serde(deserialize_with = "or_default")]
    pub change_signal: String,
    #[serde(deserialize_with = "or_default")]
    pub allow_token_expiration: bool,
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
    #[serde(with = "nil")]
    pub config: BTreeMap<String, Value>,
    #[serde(with = "nil")]
    pub env: BTreeMap<String, String>,
}

/// The `Template` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Template {
    #[serde(deserialize_with = "or_default")]
    pub source_path: String,
    #[serde(deserialize_with = "or_default")]
    pub dest_path: String,
    #[serde(deserialize_with = "or_default")]
    pub embedded_tmpl: String,
    #[serde(deserialize_with = "or_default")]
    pub change_mode: String,
    #[serde(deserialize_with = "or_default")]
    pub change_signal: String,
    pub change_script: Option<ChangeScript>,
    #[serde(deserialize_with = "or_default")]
    pub once: bool,
    #[serde(deserialize_with = "or_default")]
    pub splay: i64,
    #[serde(deserialize_with = "or_default")]
    pub perms: String,
    pub uid: Option<i64>,
    pub gid: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    pub left_delim: String,
    #[serde(deserialize_with = "or_default")]
    pub right_delim: String,
    #[serde(deserialize_with = "or_default")]
    pub envvars: bool,
    #[serde(deserialize_with = "or_default")]
    pub vault_grace: i64,
    pub wait: Option<WaitConfig>,
    #[serde(deserialize_with = "or_default")]
    pub err_missing_key: bool,
}

/// The `DispatchPayloadConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DispatchPayloadConfig {
    #[serde(deserialize_with = "or_default")]
    pub file: String,
}

/// The `TaskLifecycleConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskLifecycleConfig {
    #[serde(deserialize_with = "or_default")]
    pub hook: String,
    #[serde(deserialize_with = "or_default")]
    pub sidecar: bool,
}

/// The `LogConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LogConfig {
    #[serde(deserialize_with = "or_default")]
    pub max_files: i64,
    #[serde(rename = "MaxFileSizeMB", deserialize_with = "or_default")]
    pub max_file_size_mb: i64,
    #[serde(deserialize_with = "or_default")]
    pub disabled: bool,
}

/// The `TaskArtifact` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskArtifact {
    #[serde(deserialize_with = "or_default")]
    pub getter_source: String,
    #[serde(with = "nil")]
    pub getter_options: BTreeMap<String, String>,
    #[serde(with = "nil")]
    pub getter_headers: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub getter_mode: String,
    #[serde(deserialize_with = "or_default")]
    pub getter_insecure: bool,
    #[serde(deserialize_with = "or_default")]
    pub relative_dest: String,
    #[serde(deserialize_with = "or_default")]
    pub chown: bool,
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

/// The `WorkloadIdentity` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct WorkloadIdentity {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(with = "nil")]
    pub audience: Vec<String>,
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
    #[serde(with = "nil")]
    pub extra_claims: Vec<String>,
}

/// The `Action` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Action {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub command: String,
    #[serde(with = "nil")]
    pub args: Vec<String>,
}

/// The `TaskSchedule` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskSchedule {
    pub cron: Option<TaskScheduleCron>,
}

/// The `ChangeScript` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ChangeScript {
    #[serde(deserialize_with = "or_default")]
    pub command: String,
    pub args: Option<Vec<String>>,
    #[serde(deserialize_with = "or_default")]
    pub timeout: i64,
    #[serde(deserialize_with = "or_default")]
    pub fail_on_error: bool,
    #[serde(deserialize_with = "or_default")]
    pub run_on_first_render: bool,
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
