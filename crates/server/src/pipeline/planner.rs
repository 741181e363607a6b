//! What a scheduler may ask while it works on an evaluation (`docs/spec/server.md §6.3`): the rules between a worker
//! and its server. Pure: what the server does comes in as a [`Workplace`].

use crate::evals::reapers::modify_time;
use crate::leadership::queues::PlanAnswer;
use crate::pipeline::travel;
use encamp_model::*;
use encamp_scheduler::{PlanResult, Planner, plan_check};
use encamp_state::StoreSnapshot;

/// A server as the worker of one evaluation sees it. Errors are texts for the log.
pub trait Workplace {
    /// Now, in Unix nanoseconds.
    fn now(&mut self) -> i64;

    /// The state as it is.
    fn snapshot(&mut self) -> StoreSnapshot;

    /// The state at an index, or a newer one; fails if it does not get there in time.
    fn snapshot_at(&mut self, index: u64) -> Result<StoreSnapshot, String>;

    /// Whether the evaluation is still out to this worker; its time begins anew.
    fn still_ours(&mut self) -> Result<(), String>;

    /// Has a plan applied that was made on the state at an index. The evaluation's time stands still meanwhile.
    fn submit(&mut self, plan: Plan, snapshot_index: u64) -> Result<PlanAnswer, String>;

    /// Writes an evaluation, new or changed.
    fn write(&mut self, eval: Evaluation, new: bool) -> Result<(), String>;

    /// Gives the worker's evaluation to the blocked ones; it stays out until it is acked.
    fn block(&mut self, eval: Evaluation) -> Result<(), String>;
}

/// An evaluation names at most so many nodes that rejected its last plan.
const MOST_REJECTIONS: usize = 100;

/// The planner of one evaluation.
pub struct WorkerPlanner<'a> {
    place: &'a mut dyn Workplace,
    /// The index of the snapshot the scheduler began with.
    snapshot_index: u64,
    snapshot: StoreSnapshot,
    /// The first error; nothing is written after it.
    failed: Option<String>,
    /// What nodes rejected of the last plan.
    rejections: Vec<PlanRejection>,
}

impl<'a> WorkerPlanner<'a> {
    /// For a scheduler that begins with that snapshot.
    pub fn new(place: &'a mut dyn Workplace, snapshot: StoreSnapshot) -> WorkerPlanner<'a> {
        WorkerPlanner { place, snapshot_index: snapshot.latest_index(), snapshot, failed: None, rejections: Vec::new() }
    }

    /// The scheduler is done.
    ///
    /// # Errors
    /// Something could not be written: the evaluation is to be delivered again.
    pub fn finish(self) -> Result<(), String> {
        self.failed.map_or(Ok(()), Err)
    }

    fn fail(&mut self, text: impl Into<String>) {
        self.failed.get_or_insert_with(|| text.into());
    }

    fn write(&mut self, eval: Evaluation, new: bool) {
        if self.failed.is_some() {
            return;
        }
        let written = self.place.still_ours().and_then(|()| self.place.write(eval, new));
        self.failed = written.err();
    }
}

impl Planner for WorkerPlanner<'_> {
    fn submit_plan(&mut self, mut plan: Plan) -> Result<PlanResult, String> {
        if let Some(text) = &self.failed {
            return Err(text.clone());
        }
        if let Some(job) = &plan.job {
            let latest = self.place.snapshot();
            let stored = travel::planned_for(latest.state(), job).ok_or_else(|| travel::not_found(job))?;
            plan.job = Some(stored.clone());
        }
        let placements = plan.node_allocation.clone();
        let PlanAnswer { accepted, refresh_index, .. } = self.place.submit(plan, self.snapshot.latest_index())?;
        self.rejections = plan_check::rejections(self.snapshot.state(), &placements, &accepted.rejected);
        self.rejections.truncate(MOST_REJECTIONS);
        let mut refresh = None;
        if refresh_index != 0 {
            self.snapshot = self.place.snapshot_at(refresh_index)?;
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

    fn update_eval(&mut self, mut eval: Evaluation) {
        eval.snapshot_index = self.snapshot_index;
        eval.modify_time = modify_time(&eval, self.place.now());
        if eval.status == "failed" {
            eval.plan_rejections = std::mem::take(&mut self.rejections);
        }
        self.write(eval, false);
    }

    fn create_eval(&mut self, mut eval: Evaluation) {
        eval.snapshot_index = self.snapshot_index;
        let now = self.place.now();
        (eval.create_time, eval.modify_time) = (now, now);
        if self.place.snapshot().eval(&eval.id).is_some() {
            return self.fail("evaluation already exists");
        }
        self.write(eval, true);
    }

    fn reblock_eval(&mut self, mut eval: Evaluation) {
        eval.snapshot_index = self.snapshot_index;
        let latest = self.place.snapshot();
        match may_reblock(latest.eval(&eval.id).map(|e| &**e)) {
            Ok(true) => {}
            Ok(false) => return,
            Err(text) => return self.fail(text),
        }
        let summary = latest.summary(&eval.namespace, &eval.job_id);
        let queued = |g: &String| summary.and_then(|s| s.summary.get(g)).map_or(0, |s| s.queued);
        if eval.queued_allocations.iter().any(|(g, n)| queued(g) != *n) {
            eval.modify_time = modify_time(&eval, self.place.now());
            self.write(eval.clone(), false);
        } else if let Err(text) = self.place.still_ours() {
            self.fail(text);
        }
        // Acked without, it would be blocked in the store, and nobody would ever look at it again.
        if self.failed.is_none() {
            self.failed = self.place.block(eval).err();
        }
    }
}

/// Whether an evaluation may be blocked again (§6.3). One that ended while it was scheduled, as duplicates of another
/// blocked evaluation of the job do, needs nothing more: to hand it out again would only use up its deliveries.
fn may_reblock(stored: Option<&Evaluation>) -> Result<bool, &'static str> {
    match stored {
        None => Err("evaluation does not exist"),
        Some(e) if e.terminal() => Ok(false),
        Some(e) if e.status == "blocked" => Ok(true),
        Some(_) => Err("evaluation not blocked"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_meanwhile_is_not_blocked_again() {
        let with = |status: &str| may_reblock(Some(&Evaluation { status: status.into(), ..Default::default() }));
        assert_eq!((with("blocked"), with("canceled"), with("failed")), (Ok(true), Ok(false), Ok(false)));
        assert_eq!(
            (with("pending"), may_reblock(None)),
            (Err("evaluation not blocked"), Err("evaluation does not exist"))
        );
    }
}
