//! Runs evaluations; [`encamp_plan::apply`] applies the plans.

use std::sync::Arc;

use encamp_model::random::Random;
use encamp_model::*;
pub use encamp_plan::apply::apply;
use encamp_scheduler::{Context, NodeOrder, PlanResult, Planner, SubmitError};
use encamp_state::{Snapshot, State};

/// What one evaluation came to.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The plan, empty if none was submitted.
    pub plan: Plan,
    /// The evaluation with its final status.
    pub updated: Vec<Evaluation>,
    /// Follow-up and blocked evaluations.
    pub created: Vec<Evaluation>,
    /// Evaluations handed back to the blocked queue.
    pub reblocked: Vec<Evaluation>,
}

impl Outcome {
    /// Groups for which no node was found.
    pub fn failed(&self) -> Vec<String> {
        self.updated.iter().chain(&self.reblocked).flat_map(|e| e.failed_tg_allocs.keys().cloned()).collect()
    }

    /// All new and changed allocations.
    pub fn planned(&self) -> impl Iterator<Item = &Arc<Allocation>> {
        self.plan.node_allocation.values().flatten()
    }

    /// The outcome in a few lines, for whoever looks into a failed case.
    pub fn sketch(&self, before: &State) -> String {
        let mut out = String::new();
        let lists = [
            ("stop", &self.plan.node_update),
            ("evict", &self.plan.node_preemptions),
            ("plan", &self.plan.node_allocation),
        ];
        for (word, lists) in lists {
            for a in lists.values().flatten() {
                let old = before.alloc(&a.id).map(|e| &e.alloc);
                let was = old.map_or("new".to_string(), |o| {
                    format!("was {} {} v{:?}", o.desired_status, o.client_status, o.job_version())
                });
                out += &format!(
                    "\n  {word} {} {} on {} ({was}) {} {} {:?} previous {:?} follow-up {:?}",
                    a.name,
                    a.id,
                    a.node_id,
                    a.desired_status,
                    a.client_status,
                    a.desired_description,
                    a.previous_allocation,
                    a.followup_eval_id
                );
            }
        }
        for e in self.updated.iter().chain(&self.reblocked).chain(&self.created) {
            let failed: Vec<String> = e
                .failed_tg_allocs
                .iter()
                .map(|(g, m)| format!("{g}: {:?} {:?}", m.constraint_filtered, m.dimension_exhausted))
                .collect();
            out += &format!(
                "\n  evaluation {} {} {} failed {failed:?} queued {:?}",
                e.id, e.status, e.triggered_by, e.queued_allocations
            );
        }
        out += &format!("\n  deployment {:?} {:?}", self.plan.deployment, self.plan.deployment_updates);
        out
    }

    /// The allocations that `before` does not have.
    pub fn placed<'a>(&'a self, before: &'a State) -> impl Iterator<Item = &'a Arc<Allocation>> {
        self.planned().filter(|a| before.alloc(&a.id).is_none())
    }
}

struct Recorder(Outcome);

impl Planner for Recorder {
    fn submit_plan(&mut self, plan: Plan) -> Result<PlanResult, SubmitError> {
        let result = PlanResult::accepted(plan.clone());
        self.0.plan = plan;
        Ok(result)
    }

    fn update_eval(&mut self, eval: Evaluation) {
        self.0.updated.push(eval);
    }

    fn create_eval(&mut self, eval: Evaluation) {
        self.0.created.push(eval);
    }

    fn reblock_eval(&mut self, eval: Evaluation) {
        self.0.reblocked.push(eval);
    }
}

/// What a run takes from outside besides the state.
#[derive(Clone)]
pub struct Terms {
    /// Unix nanoseconds.
    pub now: i64,
    /// Seed of the dynamic ports, and prefix of new IDs.
    pub seed: u64,
    /// The order of nodes.
    pub order: NodeOrder,
}

/// Processes an evaluation; its plan is accepted in full.
pub fn run(state: &Snapshot, eval: &Evaluation, terms: &Terms) -> Result<Outcome, String> {
    let mut last_id = 0u64;
    let prefix = terms.seed & 0xffff_ffff;
    let mut new_id = || {
        last_id += 1;
        format!("{prefix:08x}-0000-4000-8000-{last_id:012x}")
    };
    let mut ports = Random::new(terms.seed, "ports");
    let mut random = |n: u64| ports.below(n);
    let mut ctx = Context {
        now: terms.now,
        order: terms.order.clone(),
        new_id: &mut new_id,
        random: &mut random,
        stopwatch: &mut || 0,
        stop: &|| false,
    };
    let mut recorder = Recorder(Outcome::default());
    encamp_scheduler::process(state, eval, &mut ctx, &mut recorder).map_err(|e| e.to_string())?;
    Ok(recorder.0)
}
