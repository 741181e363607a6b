//! Settings of a server (`docs/spec/agent-config.md`, block `server`).

use std::path::PathBuf;
use std::time::Duration;

use encamp_jobspec::admission::ServerContext;
use encamp_model::{
    AutopilotConfiguration, HOUR, JobType, MINUTE, PreemptionConfig, SECOND, SchedulerAlgorithm, SchedulerConfiguration,
};

/// All schedulers that a worker can run, by the types of their jobs.
pub const SCHEDULERS: &[JobType] = JobType::ALL;

/// Garbage collection settings (`docs/spec/garbage-collection.md §2`), in nanoseconds.
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
    /// `csi_plugin_gc_threshold`.
    pub csi_plugin_threshold: i64,
    /// `csi_volume_claim_gc_threshold`.
    pub csi_claim_threshold: i64,
    /// `csi_volume_claim_gc_interval`.
    pub csi_claim_interval: i64,
    /// `root_key_gc_interval`.
    pub key_interval: i64,
    /// `root_key_rotation_threshold`.
    pub key_rotation: i64,
    /// `root_key_gc_threshold`, in addition to `key_rotation`.
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
            csi_plugin_threshold: HOUR,
            csi_claim_threshold: 5 * MINUTE,
            csi_claim_interval: 5 * MINUTE,
            key_interval: 10 * MINUTE,
            key_rotation: 720 * HOUR,
            key_threshold: HOUR,
        }
    }
}

/// The handling of new nodes without an introduction (`client_introduction.enforcement`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enforcement {
    /// They are accepted.
    None,
    /// They are accepted with a warning.
    Warn,
    /// They are refused.
    Strict,
}

/// Settings for the introduction of new nodes (`client_introduction` block), in nanoseconds.
#[derive(Debug, Clone)]
pub struct IntroductionSettings {
    /// The handling of nodes without an introduction.
    pub enforcement: Enforcement,
    /// The default TTL of an introduction.
    pub default_ttl: i64,
    /// The maximum TTL of an introduction.
    pub max_ttl: i64,
}

impl Default for IntroductionSettings {
    fn default() -> Self {
        IntroductionSettings { enforcement: Enforcement::Warn, default_ttl: 5 * MINUTE, max_ttl: 30 * MINUTE }
    }
}

/// Access control (`acl` block). Times in nanoseconds.
#[derive(Debug, Clone)]
pub struct AclSettings {
    /// Whether there is access control.
    pub enabled: bool,
    /// Whether global tokens belong to this region: `authoritative_region` is empty or its name.
    pub authoritative: bool,
    /// `token_min_expiration_ttl`.
    pub min_ttl: i64,
    /// `token_max_expiration_ttl`.
    pub max_ttl: i64,
    /// `acl_token_gc_threshold` of the block `server`: the age of expired tokens that are collected.
    pub gc_threshold: i64,
}

impl Default for AclSettings {
    fn default() -> Self {
        AclSettings { enabled: false, authoritative: true, min_ttl: MINUTE, max_ttl: 24 * HOUR, gc_threshold: HOUR }
    }
}

/// Limits of the search endpoints (`search` block).
#[derive(Debug, Clone)]
pub struct SearchSettings {
    /// Whether fuzzy search is enabled.
    pub fuzzy_enabled: bool,
    /// Maximum number of objects searched per context.
    pub limit_query: usize,
    /// Maximum number of matches returned per context.
    pub limit_results: usize,
    /// Minimum length of a search term.
    pub min_term_length: usize,
}

impl Default for SearchSettings {
    fn default() -> Self {
        SearchSettings { fuzzy_enabled: true, limit_query: 20, limit_results: 100, min_term_length: 2 }
    }
}

/// The heartbeat settings of the servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeartbeatSettings {
    /// Maximum number of heartbeats per second of all nodes together (`max_heartbeats_per_second`).
    pub max_per_second: f64,
    /// The shortest TTL of a node (`min_heartbeat_ttl`).
    pub min_ttl: i64,
    /// The grace period in addition to the TTL (`heartbeat_grace`).
    pub grace: i64,
    /// The TTL of all nodes after a leader election (`failover_heartbeat_ttl`).
    pub failover_ttl: i64,
}

impl Default for HeartbeatSettings {
    fn default() -> HeartbeatSettings {
        HeartbeatSettings { max_per_second: 50.0, min_ttl: 10 * SECOND, grace: 10 * SECOND, failover_ttl: 300 * SECOND }
    }
}

impl HeartbeatSettings {
    /// The TTL for a node when `timers` nodes have one: the base TTL plus up to 100% random jitter.
    pub fn ttl(&self, timers: usize, random: u64) -> i64 {
        let spread = timers as f64 / self.max_per_second;
        // Too large for nanoseconds, or not a number: the conversion gives the nearest possible.
        let base = if spread.is_finite() { (spread * SECOND as f64) as i64 } else { 0 };
        let base = base.max(self.min_ttl).max(0);
        let extra = random.checked_rem(base.unsigned_abs()).unwrap_or(0);
        base.saturating_add_unsigned(extra)
    }
}

/// The `plan_rejection_tracker` block of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RejectionSettings {
    /// Whether rejections are tracked.
    pub enabled: bool,
    /// The number of rejections within the window from which on a node becomes ineligible.
    pub node_threshold: usize,
    /// How long a rejection counts, in nanoseconds.
    pub node_window: i64,
}

impl Default for RejectionSettings {
    fn default() -> RejectionSettings {
        RejectionSettings { enabled: false, node_threshold: 100, node_window: 5 * MINUTE }
    }
}

/// A value of the `plan_rejection_tracker` block is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRejectionSettings {
    /// The threshold is 0.
    #[error("plan_rejection_tracker: node_threshold must be greater than 0")]
    NodeThreshold,
    /// The window is empty.
    #[error("plan_rejection_tracker: node_window must be greater than 0")]
    NodeWindow,
}

impl RejectionSettings {
    /// Validates the threshold and the window.
    ///
    /// # Errors
    /// See [`InvalidRejectionSettings`].
    pub fn check(&self) -> Result<(), InvalidRejectionSettings> {
        if self.node_threshold == 0 {
            return Err(InvalidRejectionSettings::NodeThreshold);
        }
        if self.node_window <= 0 {
            return Err(InvalidRejectionSettings::NodeWindow);
        }
        Ok(())
    }
}

/// Settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server's ID, a UUID; stored in the data directory.
    pub id: String,
    /// Its name, without the region.
    pub name: String,
    /// Its region.
    pub region: String,
    /// Its datacenter.
    pub datacenter: String,
    /// The address for other servers, as `address:port`.
    pub rpc_address: String,
    /// The directory of log and snapshots.
    pub data_dir: PathBuf,
    /// `raft_multiplier`.
    pub raft_multiplier: u32,
    /// The number of operations since the last snapshot after which a new one is due.
    pub snapshot_threshold: u64,
    /// How often the server checks whether a snapshot is due.
    pub snapshot_interval: Duration,
    /// The number of log entries retained behind a snapshot, at least 1.
    pub trailing_logs: u64,
    /// The number of workers; 0 disables scheduling on this server.
    pub num_schedulers: usize,
    /// The schedulers that the workers run.
    pub enabled_schedulers: Vec<JobType>,
    /// Depth of the plan pipeline (`plan_apply_pipeline`), at least 1.
    pub plan_pipeline: usize,
    /// Node heartbeat settings.
    pub heartbeat: HeartbeatSettings,
    /// Whether superseded evaluations are cancelled; see [`crate::evals::broker::Broker::set_shedding`].
    pub shedding: bool,
    /// Settings for nodes that reject too many plans.
    pub rejection: RejectionSettings,
    /// The issuer of identities (`oidc_issuer`); empty if not set.
    pub oidc_issuer: String,
    /// Settings for the introduction of new nodes.
    pub introduction: IntroductionSettings,
    /// Garbage collection settings.
    pub gc: GcSettings,
    /// Access control.
    pub acl: AclSettings,
    /// Search settings.
    pub search: SearchSettings,
    /// Input of job admission besides the state: priorities, counts, identities.
    pub admission: ServerContext,
    /// The number of retained untagged versions of a job.
    pub tracked_versions: usize,
    /// Maximum size in bytes of the source stored with a job version.
    pub job_max_source_size: usize,
    /// The scheduler configuration of a new cluster.
    pub scheduler_config: SchedulerConfiguration,
    /// The autopilot configuration of a new cluster.
    pub autopilot: AutopilotConfiguration,
    /// The number of retained event batches; see also `event_broker`.
    pub event_buffer_size: usize,
    /// Whether events are published.
    pub event_broker: bool,
    /// State reads per second of the deployment watcher.
    pub deploy_query_rate: f64,
    /// The time that counts as now, Unix nanoseconds; `None` for the clock's. The server of a state that does not change
    /// has that of the state.
    pub as_of: Option<i64>,
}

impl Settings {
    /// The defaults for a server with this data directory.
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
            enabled_schedulers: SCHEDULERS.to_vec(),
            plan_pipeline: 1,
            heartbeat: HeartbeatSettings::default(),
            shedding: true,
            rejection: RejectionSettings::default(),
            oidc_issuer: String::new(),
            introduction: IntroductionSettings::default(),
            gc: GcSettings::default(),
            acl: AclSettings::default(),
            search: SearchSettings::default(),
            admission: ServerContext::default(),
            tracked_versions: 6,
            job_max_source_size: 1_000_000,
            scheduler_config: default_scheduler_config(),
            autopilot: AutopilotConfiguration::default(),
            event_buffer_size: 100,
            event_broker: true,
            deploy_query_rate: 100.0,
            as_of: None,
        }
    }
}

/// The initial scheduler configuration of a new cluster (`docs/spec/server.md §2.2` step 4).
pub fn default_scheduler_config() -> SchedulerConfiguration {
    SchedulerConfiguration {
        scheduler_algorithm: SchedulerAlgorithm::Binpack,
        preemption_config: PreemptionConfig { system_scheduler_enabled: true, ..Default::default() },
        ..Default::default()
    }
}
