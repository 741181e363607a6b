//! Cluster-wide objects: scheduler configuration, node pools, namespaces.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use super::group::WorkloadIdentity;
use super::json::{duration_text, nil, or_default};
use super::time::SECOND;

/// What servers are set up with and what decides about jobs: parts of their configuration files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServerSettings {
    /// Whether the default Vault cluster is enabled.
    #[serde(deserialize_with = "or_default")]
    pub vault_enabled: bool,
    /// The identity that tasks with a `vault` block get for Vault.
    pub vault_default_identity: Option<WorkloadIdentity>,
    /// The identity that services get for Consul.
    pub consul_service_identity: Option<WorkloadIdentity>,
    /// The identity that tasks with a `consul` block get for Consul.
    pub consul_task_identity: Option<WorkloadIdentity>,
}

/// Cluster-wide scheduler settings (`docs/spec/scheduling.md §9`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SchedulerConfiguration {
    #[serde(deserialize_with = "or_default")]
    pub scheduler_algorithm: String,
    #[serde(deserialize_with = "or_default")]
    pub preemption_config: PreemptionConfig,
    #[serde(deserialize_with = "or_default")]
    pub memory_oversubscription_enabled: bool,
    #[serde(deserialize_with = "or_default")]
    pub reject_job_registration: bool,
    #[serde(deserialize_with = "or_default")]
    pub pause_eval_broker: bool,
    #[serde(deserialize_with = "or_default")]
    pub node_limit_for_feasibility_checks: u64,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// A named set of nodes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodePool {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub description: String,
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
    pub scheduler_configuration: Option<NodePoolSchedulerConfiguration>,
    #[serde(rename = "NodeIdentityTTL", deserialize_with = "or_default")]
    pub node_identity_ttl: i64,
    pub hash: Option<Bytes>,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// A namespace of jobs, allocations and volumes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Namespace {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub description: String,
    #[serde(deserialize_with = "or_default")]
    pub quota: String,
    pub capabilities: Option<NamespaceCapabilities>,
    pub node_pool_configuration: Option<NamespaceNodePoolConfiguration>,
    pub vault_configuration: Option<NamespaceVaultConfiguration>,
    pub consul_configuration: Option<NamespaceConsulConfiguration>,
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
    pub hash: Option<Bytes>,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
    #[serde(with = "nil")]
    pub required_extra_claims: BTreeMap<String, String>,
    #[serde(with = "nil")]
    pub optional_extra_claims: BTreeMap<String, String>,
}

/// The `PreemptionConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PreemptionConfig {
    #[serde(deserialize_with = "or_default")]
    pub system_scheduler_enabled: bool,
    #[serde(deserialize_with = "or_default")]
    pub sys_batch_scheduler_enabled: bool,
    #[serde(deserialize_with = "or_default")]
    pub batch_scheduler_enabled: bool,
    #[serde(deserialize_with = "or_default")]
    pub service_scheduler_enabled: bool,
}

/// The `NodePoolSchedulerConfiguration` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodePoolSchedulerConfiguration {
    #[serde(deserialize_with = "or_default")]
    pub scheduler_algorithm: String,
    pub memory_oversubscription_enabled: Option<bool>,
}

/// The `NamespaceCapabilities` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NamespaceCapabilities {
    #[serde(with = "nil")]
    pub enabled_task_drivers: Vec<String>,
    #[serde(with = "nil")]
    pub disabled_task_drivers: Vec<String>,
    #[serde(with = "nil")]
    pub enabled_network_modes: Vec<String>,
    #[serde(with = "nil")]
    pub disabled_network_modes: Vec<String>,
}

/// The `NamespaceNodePoolConfiguration` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NamespaceNodePoolConfiguration {
    #[serde(deserialize_with = "or_default")]
    pub default: String,
    #[serde(with = "nil")]
    pub allowed: Vec<String>,
    #[serde(with = "nil")]
    pub denied: Vec<String>,
}

/// The `NamespaceVaultConfiguration` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NamespaceVaultConfiguration {
    #[serde(deserialize_with = "or_default")]
    pub default: String,
    #[serde(with = "nil")]
    pub allowed: Vec<String>,
    #[serde(with = "nil")]
    pub denied: Vec<String>,
}

/// The `NamespaceConsulConfiguration` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NamespaceConsulConfiguration {
    #[serde(deserialize_with = "or_default")]
    pub default: String,
    #[serde(with = "nil")]
    pub allowed: Vec<String>,
    #[serde(with = "nil")]
    pub denied: Vec<String>,
}

/// What identifies a cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ClusterMetadata {
    #[serde(rename = "ClusterID", deserialize_with = "or_default")]
    pub cluster_id: String,
    /// Unix nanoseconds.
    #[serde(deserialize_with = "or_default")]
    pub create_time: i64,
}

/// The index at which a table changed last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct IndexEntry {
    /// Name of the table.
    #[serde(deserialize_with = "or_default")]
    pub key: String,
    #[serde(deserialize_with = "or_default")]
    pub value: u64,
}

/// How autopilot looks after the servers (`docs/spec/server.md §23`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AutopilotConfiguration {
    /// Dead servers are removed when a replacement is there.
    #[serde(deserialize_with = "or_default")]
    pub cleanup_dead_servers: bool,
    /// How long a server may be out of contact and still be healthy, in nanoseconds.
    #[serde(with = "duration_text")]
    pub last_contact_threshold: i64,
    /// How many log entries a healthy server may be behind.
    #[serde(deserialize_with = "or_default")]
    pub max_trailing_logs: u64,
    /// Never remove servers below this number.
    #[serde(deserialize_with = "or_default")]
    pub min_quorum: u64,
    /// How long a server must be healthy before it votes, in nanoseconds.
    #[serde(with = "duration_text")]
    pub server_stabilization_time: i64,
    /// Kept for clients; without effect.
    #[serde(deserialize_with = "or_default")]
    pub enable_redundancy_zones: bool,
    /// Kept for clients; without effect.
    #[serde(deserialize_with = "or_default")]
    pub disable_upgrade_migration: bool,
    /// Kept for clients; without effect.
    #[serde(deserialize_with = "or_default")]
    pub enable_custom_upgrades: bool,
    /// Index of the first write.
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    /// Index of the last write.
    #[serde(deserialize_with = "or_default")]
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
