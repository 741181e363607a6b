//! The entire state of a server (`docs/spec/server.md §17`): the [`State`] that schedulers read, plus evaluations,
//! summaries, policies, registrations and the index of the last write to each table.
//!
//! Writers change a [`StateStore`] of their own and publish clones of it; a clone costs a few reference counts. Rows
//! are never changed in place. The effects of an operation are defined by the state machine, not by the store.
//!
//! - [`table`]: the tables and their indexes. `bulk`: all rows at once. `rows`, `variables`, [`acl`], [`revocations`]:
//!   reading and writing of rows.

pub mod acl;
mod bulk;
pub mod revocations;
mod rows;
pub mod table;
mod variables;

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

pub use table::{Table, TableIndexes};

use self::acl::AclTables;
use super::id::Id;
use super::tables::{Key, Snapshot, State};
use encamp_model::capability::CapabilityLevel;
use encamp_model::*;

/// A read-only view of the store at one moment.
pub type StoreSnapshot = Arc<StateStore>;

/// Namespace, ID, version.
pub(crate) type VersionKey = (String, String, u64);

/// The newest writes to allocations of a deployment, by index; 0: there was none. Writes of allocations that were
/// removed since count as long as the store lives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeploymentWrites {
    /// To any of them.
    pub any: u64,
    /// That found one healthy.
    pub healthy: u64,
}

/// All tables of a server. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct StateStore {
    state: Snapshot,
    indexes: TableIndexes,

    evals: OrdMap<Id, Arc<Evaluation>>,
    evals_by_create: OrdSet<(u64, Id)>,
    /// The hash of namespace and job ID, evaluation ID: a third of the size of the three.
    evals_by_job: OrdSet<(u64, Id)>,
    /// The same for those that are blocked: few of the many that a job may have.
    blocked_by_job: OrdSet<(u64, Id)>,

    allocs_by_create: OrdSet<(u64, Id)>,
    /// Evaluation and allocation, for those that belong to one; the same by deployment.
    allocs_by_eval: OrdSet<(Id, Id)>,
    allocs_by_deployment: OrdSet<(Id, Id)>,
    /// The writes to the allocations of each deployment.
    deployment_writes: OrdMap<Id, DeploymentWrites>,
    deployments_by_create: OrdSet<(u64, String)>,
    /// Parent's namespace and ID, child's ID.
    children: OrdSet<(String, String, String)>,

    summaries: OrdMap<Key, Arc<JobSummary>>,
    submissions: OrdMap<VersionKey, Arc<JobSubmission>>,
    launches: OrdMap<Key, Arc<PeriodicLaunch>>,
    scaling_policies: OrdMap<String, Arc<ScalingPolicy>>,
    /// Namespace, job ID, policy ID.
    scaling_policies_by_job: OrdSet<(String, String, String)>,
    scaling_events: OrdMap<Key, Arc<JobScalingEvents>>,

    services: OrdMap<Key, Arc<ServiceRegistration>>,
    /// Namespace, service name, registration ID.
    services_by_name: OrdSet<(String, String, String)>,
    /// Allocation ID, namespace, registration ID.
    services_by_alloc: OrdSet<(String, String, String)>,

    variables: OrdMap<Key, Arc<VariableEncrypted>>,
    /// Key ID, namespace, path.
    variables_by_key: OrdSet<(String, String, String)>,

    csi_plugins: OrdMap<String, Arc<CsiPlugin>>,
    root_keys: OrdMap<String, Arc<WrappedRootKey>>,
    acl: AclTables,
    node_revocations: OrdMap<String, Arc<NodeRevocation>>,
    /// The hash of a refused secret, and the node that had it.
    revoked_secrets: OrdMap<String, String>,
    cluster_metadata: Option<Arc<ClusterMetadata>>,
    autopilot: Option<Arc<AutopilotConfiguration>>,
    /// None: the first one.
    capability_level: Option<CapabilityLevel>,
}

impl StateStore {
    /// A new store with what every cluster has from its first index on: the default namespace and the pools `all` and
    /// `default`.
    pub fn new() -> StateStore {
        let mut store = StateStore::default();
        store.add_built_ins(1);
        store
    }

    /// Adds the built-in namespace and pools that are missing.
    pub fn add_built_ins(&mut self, index: u64) {
        for (name, description) in
            [("all", "Node pool with all nodes in the cluster."), ("default", "Default node pool.")]
        {
            if self.state.node_pool(name).is_none() {
                let pool = NodePool {
                    name: name.into(),
                    description: description.into(),
                    create_index: index,
                    modify_index: index,
                    ..Default::default()
                };
                self.state_mut().upsert_node_pool(Arc::new(pool));
                self.set_index(Table::NodePools, index);
            }
        }
        if self.state.namespace("default").is_none() {
            let mut ns = Namespace {
                name: "default".into(),
                description: "Default shared namespace".into(),
                create_index: index,
                modify_index: index,
                ..Default::default()
            };
            ns.hash = Some(ns.compute_hash());
            self.state_mut().upsert_namespace(Arc::new(ns));
            self.set_index(Table::Namespaces, index);
        }
    }

    /// The tables that schedulers read. Its index is the latest index of the store.
    pub fn state(&self) -> &Snapshot {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        Arc::make_mut(&mut self.state)
    }

    /// The index of the last write to a table, 0 if there was none.
    pub fn index_of(&self, table: Table) -> u64 {
        self.indexes.get(table)
    }

    /// The index of the last write to any table.
    pub fn latest_index(&self) -> u64 {
        self.indexes.latest()
    }

    /// Notes a write to a table.
    pub fn set_index(&mut self, table: Table, index: u64) {
        self.indexes.set(table, index);
        if self.state.index != index {
            let latest = self.indexes.latest();
            self.state_mut().index = latest;
        }
    }

    /// Makes the index of the state that of the tables, whatever the rows say.
    pub fn settle_index(&mut self) {
        let latest = self.indexes.latest();
        self.state_mut().index = latest;
    }

    /// Freezes the store.
    pub fn snapshot(&self) -> StoreSnapshot {
        Arc::new(self.clone())
    }
}

/// The second members of the pairs that begin with `first`.
fn seconds<'a>(set: &'a OrdSet<(Id, Id)>, first: &str) -> impl Iterator<Item = &'a Id> + use<'a> {
    let first = Id::new(first);
    set.range((first.clone(), Id::default())..).take_while(move |(a, _)| *a == first).map(|(_, b)| b)
}

/// The last members of the triples that begin with `a` and `b`.
fn thirds<'a>(set: &'a OrdSet<(String, String, String)>, a: &'a str, b: &'a str) -> impl Iterator<Item = &'a str> {
    let start = (a.to_string(), b.to_string(), String::new());
    set.range(start..).take_while(move |(x, y, _)| x == a && y == b).map(|(_, _, c)| c.as_str())
}

#[cfg(test)]
mod tests;
