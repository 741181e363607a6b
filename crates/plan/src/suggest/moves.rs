//! Moves of allocations of other jobs, which make room for the job: what `rebalance -fit` finds.

use std::sync::Arc;

use encamp_model::JobType;
use encamp_state::State;

use super::edit::Edit;
use super::question::Question;
use super::trial::Trial;
use crate::rebalance::{Goal, Limits, RebalancePlan, Request, follow, rebalance};

/// More moves are not suggested.
const MOST_MOVES: usize = 20;

/// The fewest moves found that make room for everything that the plan of a job does not place.
pub(super) fn moves(question: &Question<'_>, first: &Trial) -> Option<Edit> {
    let job = &first.run.job;
    if first.unplaced().is_empty() || !matches!(job.r#type, JobType::Service | JobType::Batch) {
        return None;
    }
    let limits = Limits { batch: true, max_moves: Some(MOST_MOVES), ..Limits::default() };
    let request = Request { goal: Goal::Fit(job.clone()), limits };
    let plan = rebalance(question.state, &request, &question.stop, question.now).ok()?;
    (plan.reached && plan.moves > 0).then(|| Edit::Moves { plan: Arc::new(plan), now: question.now })
}

/// The cluster once moves have been made; false if they do not lead to what they promise.
pub(super) fn carry_out(state: &mut State, plan: &RebalancePlan, now: i64) -> bool {
    let mut after = state.clone();
    for step in &plan.steps {
        match follow(&after, step, now) {
            Ok(followed) if followed.keeps(step) => after = followed.state,
            Ok(_) | Err(_) => return false,
        }
    }
    *state = after;
    true
}
