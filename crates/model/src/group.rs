//! Task groups and tasks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::job::*;
use super::json::{nil, null_is_default};
use super::modes::RestartMode;
use super::resources::*;
use super::service::*;
use super::status::LifecycleHook;

/// A set of tasks that are placed together; `count` copies of it run.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroup {
    /// Unique in the job.
    pub name: String,
    /// How many copies run; of system jobs 0 or 1 per node.
    pub count: i64,
    /// How changes are rolled out; null: all at once, without a deployment. Only service and system jobs have one.
    pub update: Option<UpdateStrategy>,
    /// How allocations leave a draining node. Only service jobs have one.
    pub migrate: Option<MigrateStrategy>,
    /// Beside those of the job, in the order of the job file.
    #[serde(with = "nil")]
    pub constraints: Vec<Constraint>,
    /// The bounds for scaling `count`; null: anything goes.
    pub scaling: Option<ScalingPolicy>,
    /// When failed tasks restart on their node.
    pub restart_policy: Option<RestartPolicy>,
    /// The behaviour when the node disconnects; null: its allocations are lost at once.
    pub disconnect: Option<DisconnectStrategy>,
    /// In the order of the job file; names are unique.
    #[serde(with = "nil")]
    pub tasks: Vec<Task>,
    /// The disk that the tasks share.
    pub ephemeral_disk: Option<EphemeralDisk>,
    /// Free-form metadata, over those of the job.
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
    /// When failed allocations are replaced; null for system and sysbatch jobs.
    pub reschedule_policy: Option<ReschedulePolicy>,
    /// Beside those of the job, in the order of the job file.
    #[serde(with = "nil")]
    pub affinities: Vec<Affinity>,
    /// Beside those of the job, in the order of the job file.
    #[serde(with = "nil")]
    pub spreads: Vec<Spread>,
    /// Networks that the tasks share; the scheduler uses the first.
    #[serde(with = "nil")]
    pub networks: Vec<NetworkResource>,
    /// Consul settings of the group.
    pub consul: Option<Consul>,
    /// Services of the whole group.
    #[serde(with = "nil")]
    pub services: Vec<Service>,
    /// Volumes that tasks of the group can mount, by name.
    pub volumes: Option<BTreeMap<String, VolumeRequest>>,
    /// Nanoseconds between the deregistration of services and the stop of tasks; null: 0.
    pub shutdown_delay: Option<i64>,
    /// Nanoseconds after which a batch or sysbatch allocation is killed; null: never.
    pub max_run_duration: Option<i64>,
    /// Deprecated form of `disconnect.stop_on_client_after`; registration drops it.
    pub stop_after_client_disconnect: Option<i64>,
    /// Deprecated form of `disconnect.lost_after`; registration drops it.
    pub max_client_disconnect: Option<i64>,
    /// Deprecated form of `disconnect.replace`; registration drops it.
    pub prevent_reschedule_on_lost: bool,
}

/// How allocations leave a draining node; durations in nanoseconds.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MigrateStrategy {
    /// How many allocations of the group leave at a time.
    pub max_parallel: i64,
    /// How the health of a replacement is determined: `checks` or `task_states`.
    pub health_check: String,
    /// How long a replacement must be well to count as healthy.
    pub min_healthy_time: i64,
    /// How long a replacement may take to become healthy.
    pub healthy_deadline: i64,
}

/// How often a failed task restarts in place; durations in nanoseconds.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RestartPolicy {
    /// Restarts within `interval`.
    pub attempts: i64,
    /// The time in which `attempts` are counted.
    pub interval: i64,
    /// How long a restart waits; the node adds a random part of up to 25 %.
    pub delay: i64,
    /// When the attempts are used up: `fail`, or `delay` until the interval is over.
    pub mode: RestartMode,
    /// Whether templates are rendered again before each restart.
    pub render_templates: bool,
}

/// The behaviour of allocations on a disconnected node; durations in nanoseconds.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DisconnectStrategy {
    /// How long allocations of the node are `unknown` before they are lost; 0: they are lost at once.
    pub lost_after: i64,
    /// How long the node itself keeps them running without contact; null: for ever.
    pub stop_on_client_after: Option<i64>,
    /// Whether unknown allocations are replaced meanwhile; null: true.
    pub replace: Option<bool>,
    /// Which one stays when the node returns: `best_score`, `longest_running`, `keep_original` or `keep_replacement`.
    pub reconcile: String,
}

/// One process (or container) of a task group.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Task {
    /// Unique in the group.
    pub name: String,
    /// The driver that runs the task: `raw_exec`, `docker`, …
    pub driver: String,
    /// The user to run as; empty: the driver's default.
    pub user: String,
    /// The configuration of the driver; its keys depend on the driver.
    #[serde(with = "nil")]
    pub config: BTreeMap<String, Value>,
    /// Environment variables; values may contain `${…}`.
    #[serde(with = "nil")]
    pub env: BTreeMap<String, String>,
    /// Services of this task.
    #[serde(with = "nil")]
    pub services: Vec<Service>,
    /// Vault settings; null: the task gets no Vault token.
    pub vault: Option<Vault>,
    /// Secrets that are fetched before the task starts.
    #[serde(with = "nil")]
    pub secrets: Vec<Secret>,
    /// Consul settings; null: those of the group.
    pub consul: Option<Consul>,
    /// Files that are rendered before the task starts.
    #[serde(with = "nil")]
    pub templates: Vec<Template>,
    /// Beside those of job and group; the whole group has to satisfy them.
    #[serde(with = "nil")]
    pub constraints: Vec<Constraint>,
    /// Beside those of job and group.
    #[serde(with = "nil")]
    pub affinities: Vec<Affinity>,
    /// The requested resources of the task.
    pub resources: Option<Resources>,
    /// When the task restarts; by default as the group says.
    pub restart_policy: Option<RestartPolicy>,
    /// Where the payload of a dispatched job is written; null: nowhere.
    pub dispatch_payload: Option<DispatchPayloadConfig>,
    /// When the task runs; null: it is a main task.
    pub lifecycle: Option<TaskLifecycleConfig>,
    /// Free-form metadata, over those of job and group.
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
    /// Nanoseconds between the signal and the forced kill; the node's limit applies.
    pub kill_timeout: i64,
    /// How logs are rotated.
    pub log_config: Option<LogConfig>,
    /// The artifacts to download before the task starts, in this order.
    #[serde(with = "nil")]
    pub artifacts: Vec<TaskArtifact>,
    /// Whether the other tasks of the group stop when this one ends.
    pub leader: bool,
    /// Nanoseconds between the deregistration of services and the stop.
    pub shutdown_delay: i64,
    /// Where volumes of the group are mounted.
    #[serde(with = "nil")]
    pub volume_mounts: Vec<VolumeMount>,
    /// Policies for scaling CPU and memory of the task.
    #[serde(with = "nil")]
    pub scaling_policies: Vec<ScalingPolicy>,
    /// The signal that asks the task to stop; empty: the driver's default.
    pub kill_signal: String,
    /// The kind of a service mesh task: `connect-proxy:<service>`, … Empty: an ordinary task.
    pub kind: String,
    /// Set if the task is a CSI plugin.
    #[serde(rename = "CSIPluginConfig")]
    pub csi_plugin_config: Option<TaskCsiPluginConfig>,
    /// The identity `default`.
    pub identity: Option<WorkloadIdentity>,
    /// All other identities.
    #[serde(with = "nil")]
    pub identities: Vec<WorkloadIdentity>,
    /// Commands that operators can run in the task.
    #[serde(with = "nil")]
    pub actions: Vec<Action>,
    /// When the task is paused; validation rejects it, as it belongs to the enterprise edition.
    pub schedule: Option<TaskSchedule>,
}

/// When and how often a failed allocation is replaced; durations in nanoseconds.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ReschedulePolicy {
    /// Replacements within `interval`; 0 without `unlimited`: none.
    pub attempts: i64,
    /// The time in which `attempts` are counted.
    pub interval: i64,
    /// How long the first replacement waits.
    pub delay: i64,
    /// How the delay grows: `constant`, `exponential` or `fibonacci`.
    pub delay_function: String,
    /// The longest delay of growing ones.
    pub max_delay: i64,
    /// Whether replacements are not counted.
    pub unlimited: bool,
}

/// The `Consul` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Consul {
    /// The Consul namespace.
    pub namespace: String,
    /// The Consul cluster: `default` or the name of another one of the agent's configuration.
    pub cluster: String,
    /// The Consul admin partition; empty: any.
    pub partition: String,
}

/// The `Vault` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Vault {
    /// The Vault role to log in with; empty: that of the agent's configuration.
    pub role: String,
    /// The Vault namespace; empty: the job's.
    pub namespace: String,
    /// The Vault cluster: `default` or the name of another one of the agent's configuration.
    pub cluster: String,
    /// Whether the task gets `VAULT_TOKEN`.
    pub env: bool,
    /// Whether the token is kept out of the file `secrets/vault_token`.
    pub disable_file: bool,
    /// The action when the token changes: `restart`, `signal` or `noop`.
    pub change_mode: String,
    /// The signal of `signal`: `SIGHUP`.
    pub change_signal: String,
    /// Whether the token is left to expire instead of being renewed.
    pub allow_token_expiration: bool,
}

/// The `Secret` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Secret {
    /// Names the secret in `${secret.<name>.<key>}`.
    pub name: String,
    /// The provider: `nomad`, `vault` or a plugin.
    pub provider: String,
    /// Where the provider finds it.
    pub path: String,
    /// The configuration of the provider, in the provider's format.
    #[serde(with = "nil")]
    pub config: BTreeMap<String, Value>,
    /// Environment variables of a plugin that is the provider.
    #[serde(with = "nil")]
    pub env: BTreeMap<String, String>,
}

/// The `Template` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Template {
    /// The file with the template, relative to the task directory; empty: `embedded_tmpl`.
    pub source_path: String,
    /// Where the result goes, relative to the task directory.
    pub dest_path: String,
    /// The text of the template.
    pub embedded_tmpl: String,
    /// The action when the result changes: `restart`, `signal`, `script` or `noop`.
    pub change_mode: String,
    /// The signal of `signal`, in capitals.
    pub change_signal: String,
    /// The script to run if `change_mode` is `script`.
    pub change_script: Option<ChangeScript>,
    /// Whether the template is rendered once and never again.
    pub once: bool,
    /// The longest random delay before a change takes effect, in nanoseconds.
    pub splay: i64,
    /// The mode of the file, octal: `0644`.
    pub perms: String,
    /// The owner of the file; null: the agent's user.
    pub uid: Option<i64>,
    /// The group of the file; null: the agent's group.
    pub gid: Option<i64>,
    /// The left delimiter of template actions: `{{`.
    pub left_delim: String,
    /// The right delimiter of template actions: `}}`.
    pub right_delim: String,
    /// Whether the result is lines `KEY=value` for the environment of the task.
    pub envvars: bool,
    /// Deprecated, without effect.
    pub vault_grace: i64,
    /// How long to wait for further changes; null: as the agent's configuration says.
    pub wait: Option<WaitConfig>,
    /// Whether a missing key of a map fails the template.
    pub err_missing_key: bool,
}

/// The `DispatchPayloadConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DispatchPayloadConfig {
    /// The file for the payload, relative to the task's `local` directory.
    pub file: String,
}

/// The `TaskLifecycleConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskLifecycleConfig {
    /// `prestart`, `poststart` or `poststop`.
    pub hook: LifecycleHook,
    /// Whether the task runs as long as the main tasks; if not, it ends by itself.
    pub sidecar: bool,
}

/// The `LogConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LogConfig {
    /// How many rotated files are kept per stream.
    pub max_files: i64,
    /// MB per file.
    #[serde(rename = "MaxFileSizeMB")]
    pub max_file_size_mb: i64,
    /// Whether output is dropped instead of logged.
    pub disabled: bool,
}

/// The `TaskArtifact` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskArtifact {
    /// The URL to download; may contain `${…}`.
    pub getter_source: String,
    /// Options of the download: `checksum`, `archive`, …
    #[serde(with = "nil")]
    pub getter_options: BTreeMap<String, String>,
    /// HTTP headers of the request.
    #[serde(with = "nil")]
    pub getter_headers: BTreeMap<String, String>,
    /// The mode of the source: `any`, `file` or `dir`.
    pub getter_mode: String,
    /// Whether certificates are accepted unverified.
    pub getter_insecure: bool,
    /// Where it goes, relative to the task directory.
    pub relative_dest: String,
    /// Whether the files belong to the user of the task afterwards.
    pub chown: bool,
}

/// The `TaskCSIPluginConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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

/// The `WorkloadIdentity` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct WorkloadIdentity {
    /// `default`, or a name that is unique in the task.
    pub name: String,
    /// The audience of the token: its `aud` claims.
    #[serde(with = "nil")]
    pub audience: Vec<String>,
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
    #[serde(with = "nil")]
    pub extra_claims: Vec<String>,
}

/// The `Action` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Action {
    /// Unique in the task.
    pub name: String,
    /// The program; may contain `${…}`.
    pub command: String,
    /// Arguments of the program; may contain `${…}`.
    #[serde(with = "nil")]
    pub args: Vec<String>,
}

/// The `TaskSchedule` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskSchedule {
    /// When the task runs.
    pub cron: Option<TaskScheduleCron>,
}

/// The `ChangeScript` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ChangeScript {
    /// The program in the task.
    pub command: String,
    /// Arguments of the program.
    pub args: Option<Vec<String>>,
    /// Nanoseconds that the script may take.
    pub timeout: i64,
    /// Whether a failing script fails the task.
    pub fail_on_error: bool,
    /// Whether the script runs after the first rendering, too.
    pub run_on_first_render: bool,
}

/// The `WaitConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct WaitConfig {
    /// Nanoseconds without further changes after which the template is rendered.
    pub min: Option<i64>,
    /// Nanoseconds after which the template is rendered in any case.
    pub max: Option<i64>,
}

/// The `TaskScheduleCron` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskScheduleCron {
    /// Cron expression of the times at which the task starts.
    pub start: String,
    /// Minute and hour at which the task is paused.
    pub end: String,
    /// The IANA time zone of both.
    pub timezone: String,
}
