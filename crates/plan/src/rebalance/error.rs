//! Why no rebalance can be planned, and why a step cannot be done.

use encamp_model::quoted;
use thiserror::Error;

use super::steps::{AllocRef, NodeRef};
use crate::what_if::ChangeError;

/// Why no rebalance can be planned. Displays with a remedy.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RebalanceError {
    /// No node has this ID.
    #[error("no node has the ID {}", quoted(.0))]
    NoNode(String),
    /// A node that is to become empty is down: its allocations are lost, so there is nothing to move.
    #[error("node {} is down: its allocations are lost, so there is nothing to move", quoted(&.0.name))]
    NodeDown(NodeRef),
    /// A node's cost is no number.
    #[error("node {} has {} = {} in its metadata, which is no number", quoted(&node.name), quoted(key), quoted(value))]
    Cost {
        /// The node.
        node: NodeRef,
        /// The key.
        key: String,
        /// Its value.
        value: String,
    },
    /// No node has the key that gives its cost.
    #[error("no node has {} in its metadata", quoted(.0))]
    NoCost(String),
    /// The job that is to fit has no service or batch groups: allocations of other jobs are bound to their nodes.
    #[error("job {} is of type {job_type}: only service and batch jobs can be made to fit", quoted(job))]
    FitType {
        /// The job.
        job: String,
        /// Its type.
        job_type: String,
    },
    /// The scheduler decides nothing about the job that is to fit.
    #[error("job {} can't be planned: {reason}", quoted(job))]
    Unplanned {
        /// The job.
        job: String,
        /// What the scheduler says.
        reason: String,
    },
    /// The loss of nodes can't be followed.
    #[error(transparent)]
    Loss(#[from] ChangeError),
}

/// Why a step cannot be done on a cluster: it is not as the plan assumed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Drift {
    /// A node is gone.
    #[error("node {} is gone", quoted(&.0.name))]
    NodeGone(NodeRef),
    /// A node that is to be marked eligible drains.
    #[error("node {} is draining", quoted(&.0.name))]
    NodeDrains(NodeRef),
    /// An allocation that is to be stopped does not run on its node.
    #[error("allocation {} does not run on node {}", quoted(&.0.name), quoted(&.0.node.name))]
    NotRunning(Box<AllocRef>),
    /// The job of an allocation is gone or stopped.
    #[error("the job of allocation {} is gone or stopped", quoted(&.0.name))]
    NoJob(Box<AllocRef>),
}
