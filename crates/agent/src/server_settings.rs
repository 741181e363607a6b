//! Conversion of the agent's configuration to the settings of the server.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

use super::Config;
use super::config::server::{Autopilot, Scheduler, Server};
use encamp_host::ids;
use encamp_jobspec::admission::ServerContext;
use encamp_model::{AutopilotConfiguration, JobType, PreemptionConfig, SchedulerConfiguration};
use encamp_raft::ServerId;
use encamp_server::settings::{
    AclSettings, Enforcement, GcSettings, HeartbeatSettings, IntroductionSettings, RejectionSettings, SearchSettings,
    Settings, default_scheduler_config,
};

fn nanos(d: Duration) -> i64 {
    i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)
}

fn count(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0)
}

/// The schedulers of the configuration; `_core` is always among them.
pub fn schedulers(config: &Config) -> Vec<JobType> {
    let given = &config.server.enabled_schedulers;
    if given.is_empty() {
        return JobType::ALL.to_vec();
    }
    let mut list: Vec<JobType> = given.iter().map(JobType::from).collect();
    if !list.contains(&JobType::Core) {
        list.push(JobType::Core);
    }
    list
}

/// The configured number of workers.
pub fn workers(config: &Config) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    config.server.num_schedulers.map_or(cores, count)
}

/// The server's settings; its data is in `dir`. `id` is the server's ID.
pub fn settings(config: &Config, id: &str, dir: &Path) -> Settings {
    let s = &config.server;
    let base = Settings::new(id, &config.name, dir.to_path_buf());
    let search = SearchSettings {
        fuzzy_enabled: s.search.fuzzy_enabled,
        limit_query: count(s.search.limit_query),
        limit_results: count(s.search.limit_results),
        min_term_length: count(s.search.min_term_length),
    };
    Settings {
        region: config.region.clone(),
        datacenter: config.datacenter.clone(),
        rpc_address: config.advertise.rpc.clone(),
        raft_multiplier: u32::try_from(s.raft_multiplier).unwrap_or(1),
        snapshot_threshold: u64::try_from(s.raft_snapshot_threshold).unwrap_or(0),
        snapshot_interval: s.raft_snapshot_interval,
        trailing_logs: u64::try_from(s.raft_trailing_logs).unwrap_or(1),
        num_schedulers: workers(config),
        enabled_schedulers: schedulers(config),
        plan_pipeline: count(s.plan_apply_pipeline).max(1),
        heartbeat: HeartbeatSettings {
            max_per_second: s.max_heartbeats_per_second,
            min_ttl: nanos(s.min_heartbeat_ttl),
            grace: nanos(s.heartbeat_grace),
            failover_ttl: nanos(s.failover_heartbeat_ttl),
        },
        // For measurements only: this is not a configuration setting.
        shedding: std::env::var_os("ENCAMP_SHED_EVALUATIONS").is_none_or(|v| v != "0"),
        rejection: RejectionSettings {
            enabled: s.plan_rejection_tracker.enabled,
            node_threshold: count(s.plan_rejection_tracker.node_threshold),
            node_window: nanos(s.plan_rejection_tracker.node_window),
        },
        oidc_issuer: s.oidc_issuer.clone(),
        introduction: introduction(s),
        gc: gc(s),
        acl: AclSettings {
            enabled: config.acl.enabled,
            authoritative: s.authoritative_region.is_empty() || s.authoritative_region == config.region,
            min_ttl: nanos(config.acl.token_min_expiration_ttl),
            max_ttl: nanos(config.acl.token_max_expiration_ttl),
            gc_threshold: s.acl_token_gc_threshold,
        },
        search,
        admission: ServerContext {
            region: config.region.clone(),
            job_max_priority: s.job_max_priority,
            job_default_priority: s.job_default_priority,
            job_max_count: s.job_max_count,
            ..ServerContext::default()
        },
        tracked_versions: count(s.job_tracked_versions).max(1),
        job_max_source_size: usize::try_from(s.job_max_source_size).unwrap_or(usize::MAX),
        scheduler_config: s.default_scheduler_config.as_ref().map_or_else(default_scheduler_config, scheduler_config),
        autopilot: autopilot(&config.autopilot),
        event_buffer_size: count(s.event_buffer_size),
        event_broker: s.enable_event_broker,
        deploy_query_rate: s.deploy_query_rate_limit,
        ..base
    }
}

fn introduction(s: &Server) -> IntroductionSettings {
    IntroductionSettings {
        enforcement: match s.client_introduction.enforcement.as_str() {
            "none" => Enforcement::None,
            "strict" => Enforcement::Strict,
            _ => Enforcement::Warn,
        },
        default_ttl: nanos(s.client_introduction.default_identity_ttl),
        max_ttl: nanos(s.client_introduction.max_identity_ttl),
    }
}

fn gc(s: &Server) -> GcSettings {
    GcSettings {
        eval_threshold: s.eval_gc_threshold,
        batch_eval_threshold: s.batch_eval_gc_threshold,
        job_threshold: s.job_gc_threshold,
        job_interval: s.job_gc_interval,
        deployment_threshold: s.deployment_gc_threshold,
        node_threshold: s.node_gc_threshold,
        csi_plugin_threshold: s.csi_plugin_gc_threshold,
        csi_claim_threshold: s.csi_volume_claim_gc_threshold,
        csi_claim_interval: s.csi_volume_claim_gc_interval,
        key_interval: s.root_key_gc_interval,
        key_rotation: s.root_key_rotation_threshold,
        key_threshold: s.root_key_gc_threshold,
    }
}

fn autopilot(a: &Autopilot) -> AutopilotConfiguration {
    let number = |n: i64| u64::try_from(n).unwrap_or_default();
    AutopilotConfiguration {
        cleanup_dead_servers: a.cleanup_dead_servers,
        last_contact_threshold: nanos(a.last_contact_threshold),
        max_trailing_logs: number(a.max_trailing_logs),
        min_quorum: number(a.min_quorum),
        server_stabilization_time: nanos(a.server_stabilization_time),
        enable_redundancy_zones: a.enable_redundancy_zones.unwrap_or_default(),
        disable_upgrade_migration: a.disable_upgrade_migration.unwrap_or_default(),
        enable_custom_upgrades: a.enable_custom_upgrades.unwrap_or_default(),
        ..AutopilotConfiguration::default()
    }
}

fn scheduler_config(s: &Scheduler) -> SchedulerConfiguration {
    let p = &s.preemption_config;
    SchedulerConfiguration {
        scheduler_algorithm: s.scheduler_algorithm.as_str().into(),
        preemption_config: PreemptionConfig {
            system_scheduler_enabled: p.system_scheduler_enabled,
            sys_batch_scheduler_enabled: p.sysbatch_scheduler_enabled,
            batch_scheduler_enabled: p.batch_scheduler_enabled,
            service_scheduler_enabled: p.service_scheduler_enabled,
        },
        memory_oversubscription_enabled: s.memory_oversubscription_enabled,
        reject_job_registration: s.reject_job_registration,
        pause_eval_broker: s.pause_eval_broker,
        node_limit_for_feasibility_checks: u64::try_from(s.node_limit_for_feasibility_checks).unwrap_or(0),
        ..Default::default()
    }
}

/// The file of the server's ID cannot be used.
#[derive(Debug, Error)]
pub enum ServerIdError {
    /// The file cannot be read or written.
    #[error("server setup failed: {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file contains no UUID.
    #[error("server setup failed: {} holds no UUID", .0.display())]
    NoUuid(PathBuf),
}

/// The server's ID, which is stored in its data directory and generated on the first start.
///
/// # Errors
/// The file cannot be read or written, or contains no UUID.
pub fn server_id(dir: &Path) -> Result<ServerId, ServerIdError> {
    let path = dir.join("node-id");
    let failed = |source| ServerIdError::Io { path: path.clone(), source };
    // The content is private to the server, also in a directory that was created otherwise.
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
    std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700)).map_err(failed)?;
    match std::fs::read_to_string(&path) {
        Ok(text) => text.trim().parse().map_err(|_| ServerIdError::NoUuid(path.clone())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let text = ids::uuid();
            let id = text.parse().map_err(|_| ServerIdError::NoUuid(path.clone()))?;
            let draft = dir.join("node-id.new");
            let mut open = std::fs::OpenOptions::new();
            let open = open.write(true).create(true).truncate(true).mode(0o600);
            let mut file = open.open(&draft).map_err(failed)?;
            file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
            std::fs::rename(&draft, &path).map_err(failed)?;
            Ok(id)
        }
        Err(e) => Err(failed(e)),
    }
}
