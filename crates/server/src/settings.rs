//! What a server is told by its configuration (`docs/spec/agent-config.md`, block `server`).

use std::path::PathBuf;
use std::time::Duration;

use crate::nodes::heartbeat::HeartbeatSettings;
use crate::pipeline::rejection::RejectionSettings;
use encamp_jobspec::admission::ServerContext;
use encamp_model::{HOUR, MINUTE, PreemptionConfig, SchedulerConfiguration};

/// Names of all schedulers a worker may run.
pub const SCHEDULERS: [&str; 5] = ["service", "batch", "system", "sysbatch", "_core"];

/// When garbage is collected (`docs/spec/garbage-collection.md §2`). Nanoseconds.
#[derive(Debug, Clone)]
pub struct GcSettings {
    /// `eval_gc_threshold`.
    pub eval_threshold: i64,
    /// `batch_eval_gc_threshold`.
    pub batch_eval_threshold: i64,
    /// `job_gc_threshold`.
    pub job_threshold: i64,
    /// `job_gc_interval`.
    pub job_interval: i64,
    /// `deployment_gc_threshold`.
    pub deployment_threshold: i64,
    /// `node_gc_threshold`.
    pub node_threshold: i64,
    /// `root_key_gc_interval`.
    pub key_interval: i64,
    /// `root_key_rotation_threshold`.
    pub key_rotation: i64,
    /// `root_key_gc_threshold`, on top of it.
    pub key_threshold: i64,
}

impl Default for GcSettings {
    fn default() -> Self {
        GcSettings {
            eval_threshold: HOUR,
            batch_eval_threshold: 24 * HOUR,
            job_threshold: 4 * HOUR,
            job_interval: 5 * MINUTE,
            deployment_threshold: HOUR,
            node_threshold: 24 * HOUR,
            key_interval: 10 * MINUTE,
            key_rotation: 720 * HOUR,
            key_threshold: HOUR,
        }
    }
}

/// What happens to new nodes without an introduction (`client_introduction.enforcement`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// They are taken.
    None,
    /// They are taken, with a warning.
    Warn,
    /// They are refused.
    Strict,
}

/// How new nodes introduce themselves (`client_introduction` block). Nanoseconds.
#[derive(Debug, Clone)]
pub struct IntroductionSettings {
    /// What happens to those that don't.
    pub enforcement: Enforcement,
    /// How long an introduction is valid that says nothing else.
    pub default_ttl: i64,
    /// How long one is valid at most.
    pub max_ttl: i64,
}

impl Default for IntroductionSettings {
    fn default() -> Self {
        IntroductionSettings { enforcement: Enforcement::Warn, default_ttl: 5 * MINUTE, max_ttl: 30 * MINUTE }
    }
}

/// Limits of the search endpoints (`search` block).
#[derive(Debug, Clone)]
pub struct SearchSettings {
    /// Fuzzy search is answered.
    pub fuzzy_enabled: bool,
    /// Objects looked at per context.
    pub limit_query: usize,
    /// Matches kept per context.
    pub limit_results: usize,
    /// Shortest text that is searched for.
    pub min_term_length: usize,
}

impl Default for SearchSettings {
    fn default() -> Self {
        SearchSettings { fuzzy_enabled: true, limit_query: 20, limit_results: 100, min_term_length: 2 }
    }
}

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server's ID, a UUID; kept in the data directory.
    pub id: String,
    /// Its name, without the region.
    pub name: String,
    /// Its region.
    pub region: String,
    /// Its datacenter.
    pub datacenter: String,
    /// Where other servers reach it, as `address:port`.
    pub rpc_address: String,
    /// Where log and snapshots live.
    pub data_dir: PathBuf,
    /// `raft_multiplier`.
    pub raft_multiplier: u32,
    /// Operations since the last snapshot that make a new one due.
    pub snapshot_threshold: u64,
    /// How often it is checked whether a snapshot is due.
    pub snapshot_interval: Duration,
    /// Entries of the log kept behind a snapshot, at least 1.
    pub trailing_logs: u64,
    /// How many workers; 0 pauses scheduling on this server.
    pub num_schedulers: usize,
    /// The schedulers the workers run.
    pub enabled_schedulers: Vec<String>,
    /// Depth of the plan pipeline (`plan_apply_pipeline`), at least 1.
    pub plan_pipeline: usize,
    /// Heartbeats of nodes.
    pub heartbeat: HeartbeatSettings,
    /// Redundant evaluations are cancelled; see [`crate::evals::broker::Broker::set_shedding`].
    pub shedding: bool,
    /// Nodes that reject too many plans.
    pub rejection: RejectionSettings,
    /// What identities name as their issuer (`oidc_issuer`), empty for none.
    pub oidc_issuer: String,
    /// New nodes.
    pub introduction: IntroductionSettings,
    /// Garbage collection.
    pub gc: GcSettings,
    /// The search endpoints.
    pub search: SearchSettings,
    /// What admission of jobs needs besides the state: priorities, counts, identities.
    pub admission: ServerContext,
    /// Untagged versions kept of a job.
    pub tracked_versions: usize,
    /// Largest source text stored with a job version, in bytes.
    pub job_max_source_size: usize,
    /// Written when the cluster is new.
    pub scheduler_config: SchedulerConfiguration,
    /// Batches of events that are held; see also `event_broker`.
    pub event_buffer_size: usize,
    /// Events are streamed.
    pub event_broker: bool,
    /// State reads per second of the deployment watchers.
    pub deploy_query_rate: f64,
}

impl Settings {
    /// The defaults, for a server that lives in `data_dir`.
    pub fn new(id: &str, name: &str, data_dir: PathBuf) -> Settings {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Settings {
            id: id.into(),
            name: name.into(),
            region: "global".into(),
            datacenter: "dc1".into(),
            rpc_address: "127.0.0.1:4647".into(),
            data_dir,
            raft_multiplier: 1,
            snapshot_threshold: 8192,
            snapshot_interval: Duration::from_secs(120),
            trailing_logs: 10_240,
            num_schedulers: cores,
            enabled_schedulers: SCHEDULERS.map(String::from).to_vec(),
            plan_pipeline: 1,
            heartbeat: HeartbeatSettings::default(),
            shedding: true,
            rejection: RejectionSettings::default(),
            oidc_issuer: String::new(),
            introduction: IntroductionSettings::default(),
            gc: GcSettings::default(),
            search: SearchSettings::default(),
            admission: ServerContext::default(),
            tracked_versions: 6,
            job_max_source_size: 1_000_000,
            scheduler_config: default_scheduler_config(),
            event_buffer_size: 100,
            event_broker: true,
            deploy_query_rate: 100.0,
        }
    }
}

/// The configuration a new cluster begins with (`docs/spec/server.md §2.2` step 4).
pub fn default_scheduler_config() -> SchedulerConfiguration {
    SchedulerConfiguration {
        scheduler_algorithm: "binpack".into(),
        preemption_config: PreemptionConfig { system_scheduler_enabled: true, ..Default::default() },
        ..Default::default()
    }
}
