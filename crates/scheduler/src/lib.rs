//! The schedulers: from an evaluation and a snapshot to a plan (`docs/spec/reconciliation.md`,
//! `docs/spec/scheduling.md`).
//!
//! Everything here is pure: the clock, IDs, random ports and the order of nodes are arguments, so that a plan can be
//! reproduced from a file.
//!
//! - [`candidates`], [`order`]: the nodes a job may use and the order in which they are visited.
//! - [`constraint`]: compiled constraints.
//! - [`fit`]: whether allocations fit a node, and the fit score.
//! - [`working_plan`]: the plan being made and the resulting allocations on each node.
//! - [`plan_check`]: the parts of a finished plan that a state accepts.
//! - [`stack`]: one search for a node: feasibility, ranking, preemption.
//! - [`tainted`]: nodes that are down, missing or draining.
//! - [`tasks_updated`]: the changes of a job that need new allocations.
//! - `generic`: the scheduler of service and batch jobs; [`reconcile`]: compares the desired with the actual
//!   allocations of a job; [`reschedule`]: when failed allocations are replaced.
//! - [`disconnect`]: disconnects and reconnects in an allocation's record.
//! - [`explain`]: why nodes are, or are not, chosen.
//! - [`system`]: the system and sysbatch schedulers. [`common`]: steps that all schedulers share.
//!
//! The entry point is [`process`]: context in, effects out through [`Planner`].
//!
//! **May use** `encamp_model` and, for reading, `encamp_state`. **Never** holds I/O, clocks, global randomness, locks.

#![warn(missing_docs)]

pub mod candidates;
pub mod common;
pub mod constraint;
pub mod disconnect;
mod error;
pub mod explain;
pub mod fit;
mod generic;
pub mod order;
mod order_table;
pub mod plan_check;
pub mod reconcile;
pub mod reschedule;
pub mod stack;
pub mod system;
pub(crate) mod tainted;
pub(crate) mod tasks_updated;
pub mod working_plan;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use encamp_model::*;
use encamp_state::Snapshot;

pub use error::{ScheduleError, SubmitError};

/// Descriptions of stopped and changed allocations and of evaluations (`docs/spec/reconciliation.md §2.8`).
pub mod descriptions {
    /// Scale down, stopped job, removed group, unneeded canary.
    pub const NOT_NEEDED: &str = "alloc not needed due to job update";
    /// A replacement whose original came back.
    pub(crate) const RECONNECTED: &str = "alloc not needed due to disconnected client reconnect";
    /// Leaves a draining node.
    pub const MIGRATING: &str = "alloc is being migrated";
    /// Destructive update.
    pub const UPDATING: &str = "alloc is being updated due to job update";
    /// Its node is down or gone.
    pub const LOST: &str = "alloc is lost since its node is down";
    /// Client description of an allocation on a disconnected node.
    pub const UNKNOWN: &str = "alloc is unknown since its node is disconnected";
    /// System jobs: leaves a tainted node.
    pub(crate) const NODE_TAINTED: &str = "alloc not needed as node is tainted";
    /// A failed allocation that is replaced.
    pub const RESCHEDULED: &str = "alloc was rescheduled because it failed";
    /// Only inside the in-place check.
    pub(crate) const IN_PLACE: &str = "alloc updating in-place";
    /// Blocked evaluation for unplaced allocations.
    pub(crate) const BLOCKED_FAILED_PLACEMENTS: &str = "created to place remaining allocations";
    /// Blocked evaluation after too many rejected plans.
    pub(crate) const BLOCKED_MAX_PLANS: &str = "created due to placement conflicts";
    /// Delayed reschedule.
    pub(crate) const DELAYED_RESCHEDULE: &str = "created for delayed rescheduling";
    /// End of `lost_after`.
    pub(crate) const DISCONNECT_TIMEOUT: &str = "created for delayed disconnect timeout";
}

/// The order in which service and batch jobs look at candidate nodes.
#[derive(Debug, Clone, Default)]
pub enum NodeOrder {
    /// The shuffle of the evaluation's ID and the snapshot's index (`docs/spec/scheduling.md §3.2`).
    #[default]
    Shuffle,
    /// The same, by orders that the caller remembers: many evaluations have the same seed.
    Remembered(Orders),
    /// Explicit lists of node IDs, one per time the candidates are set; past the last list the shuffle is used.
    Explicit(Vec<Vec<String>>),
}

/// Gives [`order::places`] for a seed and a number of candidates.
#[derive(Clone)]
pub struct Orders(Arc<dyn Fn(u64, usize) -> Arc<[u32]> + Send + Sync>);

impl Orders {
    /// Orders that a function gives.
    pub fn new(places: impl Fn(u64, usize) -> Arc<[u32]> + Send + Sync + 'static) -> Orders {
        Orders(Arc::new(places))
    }
}

impl fmt::Debug for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Orders")
    }
}

/// Everything a scheduler takes from outside besides the snapshot and the evaluation.
pub struct Context<'a> {
    /// Unix nanoseconds; the only clock there is.
    pub now: i64,
    /// The order of nodes.
    pub order: NodeOrder,
    /// Gives IDs for new allocations, evaluations and deployments.
    pub new_id: &'a mut dyn FnMut() -> String,
    /// Gives uniform random numbers below its argument (which is > 0), for dynamic ports.
    pub random: &'a mut dyn FnMut(u64) -> u64,
    /// Gives the nanoseconds since a fixed moment, to measure how long a search takes. Decides nothing; dry runs give
    /// 0, so that two runs give the same result.
    pub stopwatch: &'a mut dyn FnMut() -> i64,
    /// Whether to end without a decision ([`ScheduleError::Stopped`]); asked before each placement
    /// of a service or batch job. Servers never end one.
    pub stop: &'a dyn Fn() -> bool,
}

/// The result of a submitted plan.
#[derive(Debug, Clone, Default)]
pub struct PlanResult {
    /// Accepted stops by node.
    pub node_update: BTreeMap<String, Vec<Arc<Allocation>>>,
    /// Accepted allocations by node, as planned.
    pub node_allocation: BTreeMap<String, Vec<Arc<Allocation>>>,
    /// Accepted evictions by node.
    pub node_preemptions: BTreeMap<String, Vec<Arc<Allocation>>>,
    /// The deployment, if the plan had one.
    pub deployment: Option<Deployment>,
    /// Deployment status changes.
    pub deployment_updates: Vec<DeploymentStatusUpdate>,
    /// Newer state to try again on, when a part was rejected.
    pub refresh: Option<Snapshot>,
}

impl PlanResult {
    /// The result of a plan that was accepted in full.
    pub fn accepted(plan: Plan) -> PlanResult {
        PlanResult {
            node_update: plan.node_update,
            node_allocation: plan.node_allocation,
            node_preemptions: plan.node_preemptions,
            deployment: plan.deployment,
            deployment_updates: plan.deployment_updates,
            refresh: None,
        }
    }

    /// Whether anything was accepted that will not be planned again. Allocations of batch jobs that are over are
    /// stopped by every plan (`docs/spec/reconciliation.md §5.4`), and every plan notes in a failed allocation that it
    /// can't be replaced yet: with another part refused each time, attempts would never end.
    pub(crate) fn made_progress(&self) -> bool {
        let over = |a: &Allocation| matches!(a.client_status, ClientStatus::Complete | ClientStatus::Failed);
        self.node_update.values().flatten().any(|a| !over(a))
            || self.node_allocation.values().flatten().any(|a| !over(a))
            || self.deployment.is_some()
            || !self.deployment_updates.is_empty()
    }
}

/// Where a scheduler's results go.
pub trait Planner {
    /// Takes a plan.
    ///
    /// # Errors
    /// The plan was not taken: the evaluation ends without a status and is delivered again.
    fn submit_plan(&mut self, plan: Plan) -> Result<PlanResult, SubmitError>;
    /// Stores the evaluation with its new status.
    fn update_eval(&mut self, eval: Evaluation);
    /// Creates a follow-up or blocked evaluation.
    fn create_eval(&mut self, eval: Evaluation);
    /// Hands a blocked evaluation back to the blocked queue.
    fn reblock_eval(&mut self, eval: Evaluation);
}

/// Processes an evaluation: submits plans, creates further evaluations and writes the final status, all through the
/// planner.
///
/// # Errors
/// Nothing was decided; the evaluation is to be delivered again.
pub fn process(
    snapshot: &Snapshot,
    eval: &Evaluation,
    ctx: &mut Context,
    planner: &mut dyn Planner,
) -> Result<(), ScheduleError> {
    let scheduler = match &eval.r#type {
        JobType::Service | JobType::Batch => generic::process,
        JobType::System | JobType::Sysbatch => system::process,
        other @ (JobType::Core | JobType::Unset | JobType::Other(_)) => {
            return Err(ScheduleError::UnknownType(other.clone()));
        }
    };
    if !common::accepts_trigger(&eval.r#type, &eval.triggered_by) {
        let description = format!("scheduler cannot handle '{}' evaluation reason", eval.triggered_by);
        planner.update_eval(common::with_status(eval, EvalStatus::Failed, &description, "", ctx.now));
        return Ok(());
    }
    scheduler(snapshot, eval, ctx, planner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_what_is_over_are_no_progress() {
        let stopping = |client_status| {
            let a = Allocation { client_status, ..Default::default() };
            let node_update = BTreeMap::from([("n".to_string(), vec![Arc::new(a)])]);
            PlanResult { node_update, ..Default::default() }
        };
        let progress = |status| stopping(status).made_progress();
        let ended = [ClientStatus::Complete, ClientStatus::Failed];
        assert_eq!([ClientStatus::Running, ClientStatus::Lost].map(progress), [true, true]);
        assert_eq!(ended.map(progress), [false, false]);
        let written = |status| {
            let node_allocation = stopping(status).node_update;
            PlanResult { node_allocation, ..stopping(ClientStatus::Complete) }.made_progress()
        };
        assert_eq!([ClientStatus::Pending, ClientStatus::Running, ClientStatus::Unknown].map(written), [true; 3]);
        assert_eq!([ClientStatus::Complete, ClientStatus::Failed].map(written), [false; 2]);
        assert!(!PlanResult::default().made_progress());
    }
}
