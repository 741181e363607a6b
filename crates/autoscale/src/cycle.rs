//! One evaluation of a pool (`docs/spec/cluster-scaling.md §3`): what it has, what it needs, and whether an operation begins.

use encamp_state::State;

use crate::arithmetic::Arithmetic;
use crate::checks::{Check, CheckResult};
use crate::proof::Proof;
use crate::provider::{ProviderError, ScalingGroup};
use crate::record::{Operation, Record};
use crate::registry::Pool;
use crate::view::PoolView;

/// What an evaluation reads.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The cluster.
    pub state: &'a State,
    /// The pool.
    pub pool: &'a Pool,
    /// Its state object.
    pub record: &'a Record,
    /// Its scaling group, or why it could not be read. `None`: there is no provider to ask (a plan from a file); the check of
    /// the provider's limits is left out then.
    pub group: Option<Result<&'a ScalingGroup, &'a ProviderError>>,
    /// The allocation the autoscaler itself runs in.
    pub own_alloc: Option<&'a str>,
    /// Unix nanoseconds.
    pub now: i64,
}

/// How an evaluation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The pool is in failsafe mode: nothing was evaluated.
    Failsafe,
    /// An operation is in progress: nothing was evaluated.
    InProgress,
    /// A check failed.
    Denied {
        /// Which.
        check: Check,
        /// Why.
        reason: String,
    },
    /// All checks passed but the last: so many consecutive requests.
    Requested {
        /// Requests, this one included.
        requests: i64,
        /// Requests that are needed.
        threshold: i64,
    },
    /// The operation begins; it is part of the record.
    Begin(Box<Operation>),
}

/// An evaluation with everything that led to its outcome.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The pool's nodes and sums.
    pub view: PoolView,
    /// The figures of §3.
    pub arithmetic: Arithmetic,
    /// The checks in order, up to the first that failed.
    pub checks: Vec<CheckResult>,
    /// Nodes that could be removed, best first; ten at most, none when scaling out.
    pub candidates: Vec<String>,
    /// What the scheduler said about removing the first candidate.
    pub proof: Option<Proof>,
    /// How it ended.
    pub outcome: Outcome,
    /// The record as it is to be written: counts of requests, candidates, and the operation that begins.
    pub record: Record,
}
