//! A plan that waits for the applier, and its answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::pipeline_error::PipelineError;
use encamp_model::Plan;

/// An in-flight plan, submitted to the applier.
pub struct PendingPlan {
    /// The plan.
    pub plan: Plan,
    /// The index of the snapshot that the plan was made on.
    pub snapshot_index: u64,
    /// The channel for the answer.
    pub answer: mpsc::Sender<Result<PlanAnswer, PipelineError>>,
    /// A reference from [`Queues::in_flight`](super::Queues::in_flight).
    pub in_flight: Arc<()>,
}

/// The result of a plan.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PlanAnswer {
    /// The accepted parts.
    pub accepted: encamp_scheduler::plan_check::Checked,
    /// The next attempt needs a state of at least this index; 0: all parts were accepted.
    pub refresh_index: u64,
    /// The index of the log entry; 0 if none was written.
    pub index: u64,
}

impl PlanAnswer {
    /// The answer for the accepted parts of a plan, written at an index (0: nothing had to be written). `refresh` is
    /// the value returned by [`crate::pipeline::applier::judge`]: the next attempt has to see the accepted parts, too.
    pub fn new(accepted: encamp_scheduler::plan_check::Checked, refresh: u64, index: u64) -> PlanAnswer {
        let refresh_index = if refresh == 0 { 0 } else { refresh.max(index) };
        PlanAnswer { accepted, refresh_index, index }
    }
}
