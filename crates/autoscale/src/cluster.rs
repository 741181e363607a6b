//! The autoscaler's interface to the cluster. The server's leader implements it on its own state, the external agent on
//! the HTTP API.

use std::time::Duration;

use futures_util::future::BoxFuture;

use encamp_state::Snapshot;

use crate::protection::Servers;

/// Why the cluster did not do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// This instance may not act any more: it does not lead, or lost the lock.
    #[error("this instance is no longer the leader")]
    NotLeader,
    /// The check of a check-and-set write failed: another client has written.
    #[error("another client has written {0}")]
    Conflict(String),
    /// The object is not there.
    #[error("{0} does not exist")]
    NotFound(String),
    /// The call failed; it may have had its effect.
    #[error("{0}")]
    Failed(String),
}

/// A pending answer.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ClusterError>>;

/// The items of a Variable.
pub type Items = std::collections::BTreeMap<String, String>;

/// A stored Variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its items.
    pub items: Items,
    /// Its ModifyIndex, for check-and-set.
    pub modify_index: u64,
}

/// The current usage of an allocation (`docs/spec/cluster-scaling.md §13`).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// MHz.
    pub cpu: f64,
    /// Resident memory in MB.
    pub memory: f64,
}

/// The cluster.
pub trait Cluster: Send + Sync {
    /// The name notifications give it: its region.
    fn name(&self) -> String;

    /// Whether this instance may act now. It is asked before every write and every side effect.
    fn leads(&self) -> bool;

    /// The current state.
    fn state(&self) -> Answer<'_, Snapshot>;

    /// The agents that are servers (`docs/spec/cluster-scaling.md §6`). A server that cannot be distinguished from other agents
    /// could be removed, so that an answer that is not complete has to be an error.
    fn servers(&self) -> Answer<'_, Servers>;

    /// A Variable of [`NAMESPACE`](crate::paths::NAMESPACE), read consistently.
    fn variable<'a>(&'a self, path: &'a str) -> Answer<'a, Option<Stored>>;

    /// Writes a Variable if the stored one has the ModifyIndex `check` (0: there is none); gives the new one.
    fn write<'a>(&'a self, path: &'a str, items: Items, check: u64) -> Answer<'a, u64>;

    /// Drains a node; allocations of system jobs stay. Repeating it is harmless.
    fn drain<'a>(&'a self, node: &'a str, deadline: Duration) -> Answer<'a, ()>;

    /// Ends a drain and makes the node eligible. Repeating it is harmless.
    fn cancel_drain<'a>(&'a self, node: &'a str) -> Answer<'a, ()>;

    /// Removes a node. A node that is not there is no error.
    fn purge<'a>(&'a self, node: &'a str) -> Answer<'a, ()>;

    /// Sets the count of a group by the job scale endpoint (`docs/spec/cluster-scaling.md §13`).
    fn scale<'a>(&'a self, job: (&'a str, &'a str), group: &'a str, count: i64, message: &'a str) -> Answer<'a, ()>;

    /// The usage of a running allocation.
    fn usage<'a>(&'a self, alloc: &'a str) -> Answer<'a, Usage>;
}
