//! The operations available to a scheduler while it processes an evaluation (`docs/spec/server.md §6.3`): the rules
//! between a worker and its server. No I/O: the server is a [`PlannerBackend`].

use crate::fsm::eval_times::modify_time;
use crate::other_agents::plan_codec;
use crate::queues::PlanAnswer;
use crate::queues::pipeline_error::PipelineError;
use encamp_model::*;
use encamp_scheduler::{PlanResult, Planner, SubmitError, plan_check};
use encamp_state::StoreSnapshot;

/// The server as seen by the worker of one evaluation. Its errors are only logged.
pub trait PlannerBackend {
    /// The current time in Unix nanoseconds.
    fn now(&mut self) -> i64;

    /// The current state.
    fn snapshot(&mut self) -> StoreSnapshot;

    /// The state at an index or a later one; fails if the state does not reach that index in time.
    fn snapshot_at(&mut self, index: u64) -> Result<StoreSnapshot, PipelineError>;

    /// Checks that this worker still holds the evaluation, and restarts its nack timer.
    fn still_ours(&mut self) -> Result<(), PipelineError>;

    /// Submits a plan that was made on the state at an index. The evaluation's nack timer is paused meanwhile.
    fn submit(&mut self, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, PipelineError>;

    /// Writes a new or changed evaluation.
    fn write(&mut self, eval: Evaluation, new: bool) -> Result<(), PipelineError>;

    /// Adds the worker's evaluation to the blocked evaluations; it stays outstanding until it is acked.
    fn block(&mut self, eval: Evaluation) -> Result<(), PipelineError>;
}

/// Maximum number of nodes listed in an evaluation that rejected its last plan.
const MOST_REJECTIONS: usize = 100;

/// The planner of one evaluation.
pub struct WorkerPlanner<'a> {
    backend: &'a mut dyn PlannerBackend,
    /// The index of the snapshot that the scheduler started with.
    snapshot_index: u64,
    snapshot: StoreSnapshot,
    /// The first error; nothing is written after it.
    failed: Option<PipelineError>,
    /// The rejections of the last plan, by node.
    rejections: Vec<PlanRejection>,
}

impl<'a> WorkerPlanner<'a> {
    /// A planner for a scheduler that starts with this snapshot.
    pub fn new(backend: &'a mut dyn PlannerBackend, snapshot: StoreSnapshot) -> WorkerPlanner<'a> {
        WorkerPlanner {
            backend,
            snapshot_index: snapshot.latest_index(),
            snapshot,
            failed: None,
            rejections: Vec::new(),
        }
    }

    /// Ends the planning when the scheduler is done.
    ///
    /// # Errors
    /// A write failed: the evaluation has to be delivered again.
    pub fn finish(self) -> Result<(), PipelineError> {
        self.failed.map_or(Ok(()), Err)
    }

    fn fail(&mut self, error: PipelineError) {
        self.failed.get_or_insert(error);
    }

    fn write(&mut self, eval: Evaluation, new: bool) {
        if self.failed.is_some() {
            return;
        }
        let written = self.backend.still_ours().and_then(|()| self.backend.write(eval, new));
        self.failed = written.err();
    }

    fn submit(&mut self, mut plan: Plan) -> Result<PlanResult, PipelineError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if let Some(job) = &plan.job {
            let latest = self.backend.snapshot();
            let stored = plan_codec::planned_for(latest.state(), job).ok_or_else(|| plan_codec::not_found(job))?;
            plan.job = Some(stored.clone());
        }
        let placements = plan.node_allocation.clone();
        let PlanAnswer { accepted, refresh_index, .. } = self.backend.submit(plan, self.snapshot.latest_index())?;
        self.rejections = plan_check::rejections(self.snapshot.state(), &placements, &accepted.rejected);
        self.rejections.truncate(MOST_REJECTIONS);
        let mut refresh = None;
        if refresh_index != 0 {
            self.snapshot = self.backend.snapshot_at(refresh_index)?;
            refresh = Some(self.snapshot.state().clone());
        }
        Ok(PlanResult {
            node_update: accepted.node_update,
            node_allocation: accepted.node_allocation,
            node_preemptions: accepted.node_preemptions,
            deployment: accepted.deployment,
            deployment_updates: accepted.deployment_updates,
            refresh,
        })
    }
}

impl Planner for WorkerPlanner<'_> {
    fn submit_plan(&mut self, plan: Plan) -> Result<PlanResult, SubmitError> {
        self.submit(plan).map_err(SubmitError::new)
    }

    fn update_eval(&mut self, mut eval: Evaluation) {
        eval.snapshot_index = self.snapshot_index;
        eval.modify_time = modify_time(&eval, self.backend.now());
        if eval.status == EvalStatus::Failed {
            eval.plan_rejections = std::mem::take(&mut self.rejections).into();
        }
        self.write(eval, false);
    }

    fn create_eval(&mut self, mut eval: Evaluation) {
        eval.snapshot_index = self.snapshot_index;
        let now = self.backend.now();
        (eval.create_time, eval.modify_time) = (now, now);
        if self.backend.snapshot().eval(&eval.id).is_some() {
            return self.fail(PipelineError::EvalExists);
        }
        self.write(eval, true);
    }

    fn reblock_eval(&mut self, mut eval: Evaluation) {
        eval.snapshot_index = self.snapshot_index;
        let latest = self.backend.snapshot();
        match may_reblock(latest.eval(&eval.id).map(|e| &**e)) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return self.fail(error),
        }
        let summary = latest.summary(&eval.namespace, &eval.job_id);
        let queued = |g: &String| summary.and_then(|s| s.summary.get(g)).map_or(0, |s| s.queued);
        if eval.queued_allocations.iter().any(|(g, n)| queued(g) != *n) {
            eval.modify_time = modify_time(&eval, self.backend.now());
            self.write(eval.clone(), false);
        } else if let Err(error) = self.backend.still_ours() {
            self.fail(error);
        }
        // If it were acked without this, it would be blocked in the store only, and nothing would ever unblock it.
        if self.failed.is_none() {
            self.failed = self.backend.block(eval).err();
        }
    }
}

/// Whether an evaluation may be blocked again (`docs/spec/server.md §6.3`). An evaluation that ended while it was being
/// scheduled, as duplicates of another blocked evaluation of the job do, is done: another delivery would only count
/// towards its delivery limit.
fn may_reblock(stored: Option<&Evaluation>) -> Result<bool, PipelineError> {
    match stored {
        None => Err(PipelineError::EvalGone),
        Some(e) if e.terminal() => Ok(false),
        Some(e) if e.status == EvalStatus::Blocked => Ok(true),
        Some(_) => Err(PipelineError::EvalNotBlocked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluations_that_ended_meanwhile_are_not_blocked_again() {
        let with = |status| may_reblock(Some(&Evaluation { status, ..Default::default() }));
        assert_eq!(with(EvalStatus::Blocked), Ok(true));
        assert_eq!((with(EvalStatus::Canceled), with(EvalStatus::Failed)), (Ok(false), Ok(false)));
        let text = |refused: Result<bool, PipelineError>| refused.map_err(|e| e.to_string());
        assert_eq!(
            (text(with(EvalStatus::Pending)), text(may_reblock(None))),
            (Err("evaluation not blocked".into()), Err("evaluation does not exist".into()))
        );
    }
}
