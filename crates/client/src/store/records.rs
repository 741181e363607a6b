//! What is stored of a node, its allocations and their tasks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::drivers::DriverNetwork;
use encamp_model::{
    AllocDeploymentStatus, AllocNetworkStatus, Allocation, SecretString, SignedIdentity, TaskState, TaskStatus,
};

/// The state of the agent itself. Holds secrets.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientRecord {
    /// The node has registered before.
    pub registered: bool,
    /// Its signed identity.
    pub identity: SecretString,
    /// The secret with which the node registers after the servers revoked its identity; empty: they did not.
    pub next_secret: SecretString,
    /// Meta set at run time; none: removed.
    pub meta: BTreeMap<String, Option<String>>,
    /// Host volumes made at run time, by ID.
    pub volumes: BTreeMap<String, VolumeRecord>,
}

/// A host volume made at run time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VolumeRecord {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Where it is.
    pub path: PathBuf,
    /// The plugin that made it; empty: it existed before.
    pub plugin: String,
    /// How it was made.
    pub parameters: BTreeMap<String, String>,
    /// The smallest size that was requested, in bytes; 0: no bound.
    pub capacity_min: i64,
    /// The largest size that was requested, in bytes; 0: no bound.
    pub capacity_max: i64,
}

/// The state of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllocRecord {
    /// By task.
    pub tasks: BTreeMap<String, TaskRecord>,
    /// Its health.
    pub deployment_status: Option<Box<AllocDeploymentStatus>>,
    /// It ran longer than it may.
    pub exceeded: bool,
    /// Tokens of its tasks. Secrets.
    pub identities: Vec<SignedIdentity>,
    /// When it was marked for collection, in Unix nanoseconds; 0: it was not.
    pub marked: i64,
    /// It has the disk of its predecessor, or does not get it any more.
    pub disk_taken: bool,
    /// Its removal, if that began.
    pub removal: Option<RemovalRecord>,
    /// Its addresses.
    pub network: AllocNetworkStatus,
}

impl AllocRecord {
    /// Whether the disk of the predecessor was taken over in an earlier run: whatever a task did came after that.
    pub(crate) fn has_disk(&self) -> bool {
        self.disk_taken
            || self.tasks.values().any(|t| t.built || t.handle.is_some() || t.state.state == TaskStatus::Dead)
    }
}

/// The removal of an allocation: it goes on in the next run of the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemovalRecord {
    /// A node event has reported that it failed.
    pub reported: bool,
}

/// The state of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TaskRecord {
    /// State, events, restarts.
    pub state: TaskState,
    /// The handle with which its driver finds it again.
    pub handle: Option<Value>,
    /// Its driver's network.
    pub network: Option<DriverNetwork>,
    /// Its directory was built.
    pub built: bool,
    /// It ended, and everything that follows was done.
    pub complete: bool,
    /// Hashes of the definitions of the artifacts that were downloaded.
    pub artifacts: BTreeSet<String>,
}

/// An allocation of an earlier run.
pub struct Stored {
    /// As received.
    pub alloc: Allocation,
    /// The outcome.
    pub record: AllocRecord,
    /// The last report of it that the servers have.
    pub acknowledged: Option<Allocation>,
}
