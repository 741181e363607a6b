//! Cluster-wide objects: scheduler configuration, node pools, namespaces.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use super::group::WorkloadIdentity;
use super::json::{duration_text, nil, null_is_default};
use super::status::SchedulerAlgorithm;
use super::time::SECOND;

/// The settings of servers that decide about jobs: parts of their configuration files.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServerSettings {
    /// Whether the default Vault cluster is enabled.
    pub vault_enabled: bool,
    /// The identity that tasks with a `vault` block get for Vault.
    pub vault_default_identity: Option<WorkloadIdentity>,
    /// The identity that services get for Consul.
    pub consul_service_identity: Option<WorkloadIdentity>,
    /// The identity that tasks with a `consul` block get for Consul.
    pub consul_task_identity: Option<WorkloadIdentity>,
}

/// Cluster-wide scheduler settings (`docs/spec/scheduling.md §9`).
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SchedulerConfiguration {
    /// `binpack` (full nodes first) or `spread` (empty nodes first).
    pub scheduler_algorithm: SchedulerAlgorithm,
    /// Which schedulers may evict allocations of lower priority.
    pub preemption_config: PreemptionConfig,
    /// Whether tasks may use memory up to their `memory_max`.
    pub memory_oversubscription_enabled: bool,
    /// Whether registration, dispatch and scaling need a management token.
    pub reject_job_registration: bool,
    /// Whether evaluations are kept back: they are stored, but no scheduler gets them.
    pub pause_eval_broker: bool,
    /// How many nodes a search with affinities or spreads compares, unless the group has a larger count; 0: 100.
    pub node_limit_for_feasibility_checks: u64,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// A named set of nodes.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodePool {
    /// 1 to 128 letters, digits, hyphens and underscores; `all` and `default` are built in.
    pub name: String,
    /// Free text of at most 256 characters.
    pub description: String,
    /// Free-form metadata.
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
    /// The differences from the cluster's scheduler configuration; servers refuse to store them, schedulers follow
    /// them.
    pub scheduler_configuration: Option<NodePoolSchedulerConfiguration>,
    /// Nanoseconds that the identities of its nodes live; 24 h by default.
    #[serde(rename = "NodeIdentityTTL")]
    pub node_identity_ttl: i64,
    /// A hash over the fields that users set.
    pub hash: Option<Bytes>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// A namespace of jobs, allocations and volumes.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Namespace {
    /// 1 to 128 letters, digits and hyphens; `default` is built in.
    pub name: String,
    /// Free text of at most 256 characters.
    pub description: String,
    /// Always empty: quotas belong to the enterprise edition.
    pub quota: String,
    /// Which task drivers and network modes jobs may use; null: all.
    pub capabilities: Option<NamespaceCapabilities>,
    /// Which node pools jobs may use; null: all.
    pub node_pool_configuration: Option<NamespaceNodePoolConfiguration>,
    /// Which Vault clusters jobs may use; null: all.
    pub vault_configuration: Option<NamespaceVaultConfiguration>,
    /// Which Consul clusters jobs may use; null: all.
    pub consul_configuration: Option<NamespaceConsulConfiguration>,
    /// Free-form metadata.
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
    /// A hash over the fields that users set.
    pub hash: Option<Bytes>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Claims that every workload identity carries: a template by claim.
    #[serde(with = "nil")]
    pub required_extra_claims: BTreeMap<String, String>,
    /// Claims that workload identities carry which ask for them: a template by claim.
    #[serde(with = "nil")]
    pub optional_extra_claims: BTreeMap<String, String>,
}

/// The `PreemptionConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PreemptionConfig {
    /// For system jobs.
    pub system_scheduler_enabled: bool,
    /// For sysbatch jobs.
    pub sys_batch_scheduler_enabled: bool,
    /// For batch jobs.
    pub batch_scheduler_enabled: bool,
    /// For service jobs.
    pub service_scheduler_enabled: bool,
}

/// The `NodePoolSchedulerConfiguration` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodePoolSchedulerConfiguration {
    /// `binpack` or `spread`; empty: as in the cluster.
    pub scheduler_algorithm: SchedulerAlgorithm,
    /// Null: as in the cluster.
    pub memory_oversubscription_enabled: Option<bool>,
}

/// The `NamespaceCapabilities` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NamespaceCapabilities {
    /// The only allowed drivers; empty: all that are not disabled.
    #[serde(with = "nil")]
    pub enabled_task_drivers: Vec<String>,
    /// Drivers that are not allowed.
    #[serde(with = "nil")]
    pub disabled_task_drivers: Vec<String>,
    /// The only allowed network modes of groups; empty: all that are not disabled.
    #[serde(with = "nil")]
    pub enabled_network_modes: Vec<String>,
    /// Network modes of groups that are not allowed.
    #[serde(with = "nil")]
    pub disabled_network_modes: Vec<String>,
}

/// The `NamespaceNodePoolConfiguration` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NamespaceNodePoolConfiguration {
    /// The node pool of jobs that name none.
    pub default: String,
    /// The only allowed node pools, beside the default; not together with `denied`.
    #[serde(with = "nil")]
    pub allowed: Vec<String>,
    /// Node pools that are not allowed.
    #[serde(with = "nil")]
    pub denied: Vec<String>,
}

/// The `NamespaceVaultConfiguration` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NamespaceVaultConfiguration {
    /// The Vault cluster of jobs that name none.
    pub default: String,
    /// The only allowed Vault clusters, beside the default; not together with `denied`.
    #[serde(with = "nil")]
    pub allowed: Vec<String>,
    /// Vault clusters that are not allowed.
    #[serde(with = "nil")]
    pub denied: Vec<String>,
}

/// The `NamespaceConsulConfiguration` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NamespaceConsulConfiguration {
    /// The Consul cluster of jobs that name none.
    pub default: String,
    /// The only allowed Consul clusters, beside the default; not together with `denied`.
    #[serde(with = "nil")]
    pub allowed: Vec<String>,
    /// Consul clusters that are not allowed.
    #[serde(with = "nil")]
    pub denied: Vec<String>,
}

/// The identity of a cluster.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ClusterMetadata {
    /// A UUID that the first leader chooses.
    #[serde(rename = "ClusterID")]
    pub cluster_id: String,
    /// Unix nanoseconds.
    pub create_time: i64,
}

/// The index at which a table changed last.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct IndexEntry {
    /// Name of the table.
    pub key: String,
    /// Raft index.
    pub value: u64,
}

/// How autopilot looks after the servers (`docs/spec/server.md §23`).
#[null_is_default]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AutopilotConfiguration {
    /// Dead servers are removed when a replacement is there.
    pub cleanup_dead_servers: bool,
    /// How long a server may be out of contact and still be healthy, in nanoseconds.
    #[serde(with = "duration_text")]
    pub last_contact_threshold: i64,
    /// How many log entries a healthy server may be behind.
    pub max_trailing_logs: u64,
    /// Never remove servers below this number.
    pub min_quorum: u64,
    /// How long a server must be healthy before it votes, in nanoseconds.
    #[serde(with = "duration_text")]
    pub server_stabilization_time: i64,
    /// Kept for clients; without effect.
    pub enable_redundancy_zones: bool,
    /// The capability level of the cluster stays where it is, so that servers can go back to an older build.
    pub disable_upgrade_migration: bool,
    /// Kept for clients; without effect.
    pub enable_custom_upgrades: bool,
    /// Index of the first write.
    pub create_index: u64,
    /// Index of the last write.
    pub modify_index: u64,
}

impl Default for AutopilotConfiguration {
    fn default() -> Self {
        AutopilotConfiguration {
            cleanup_dead_servers: true,
            last_contact_threshold: SECOND / 5,
            max_trailing_logs: 250,
            min_quorum: 0,
            server_stabilization_time: 10 * SECOND,
            enable_redundancy_zones: false,
            disable_upgrade_migration: false,
            enable_custom_upgrades: false,
            create_index: 0,
            modify_index: 0,
        }
    }
}
