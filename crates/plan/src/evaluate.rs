//! Processes one evaluation without a server.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::stop::Stop;
use encamp_model::random::Random;
use encamp_model::*;
use encamp_scheduler::{Context, NodeOrder, Orders, PlanResult, Planner, ScheduleError, SubmitError, order};
use encamp_state::Snapshot;

/// Gives IDs and dynamic ports from fixed sequences, so that two runs give the same result.
#[derive(Debug)]
pub struct Made {
    series: u16,
    last_id: u64,
    ports: Random,
    drawn: u64,
}

impl Made {
    /// The sequences of one purpose; IDs of different series differ.
    pub fn new(series: u16) -> Made {
        Made { series, last_id: 0, ports: Random::new(0, "dynamic ports"), drawn: 0 }
    }

    /// The next ID.
    pub fn id(&mut self) -> String {
        self.last_id += 1;
        id(self.series, self.last_id)
    }

    /// Passes over so many IDs.
    pub(crate) fn skip(&mut self, ids: u64) {
        self.last_id += ids;
    }

    /// How many IDs were given.
    pub(crate) fn given(&self) -> u64 {
        self.last_id
    }

    /// How many random numbers were drawn.
    pub(crate) fn drawn(&self) -> u64 {
        self.drawn
    }

    /// The next random number below `n`.
    pub fn random(&mut self, n: u64) -> u64 {
        self.drawn += 1;
        self.ports.below(n)
    }
}

/// The scheduler's results.
#[derive(Debug, Default)]
pub struct Answer {
    /// Plans, accepted in full.
    pub plans: Vec<Plan>,
    /// The evaluation with its final status, or handed back to the blocked queue.
    pub updates: Vec<Evaluation>,
    /// Blocked and follow-up evaluations.
    pub created: Vec<Evaluation>,
}

impl Planner for Answer {
    fn submit_plan(&mut self, plan: Plan) -> Result<PlanResult, SubmitError> {
        let result = PlanResult::accepted(plan.clone());
        self.plans.push(plan);
        Ok(result)
    }

    fn update_eval(&mut self, eval: Evaluation) {
        self.updates.push(eval);
    }

    fn create_eval(&mut self, eval: Evaluation) {
        self.created.push(eval);
    }

    fn reblock_eval(&mut self, eval: Evaluation) {
        self.updates.push(eval);
    }
}

/// Processes an evaluation at `now` (Unix nanoseconds).
///
/// # Errors
/// The scheduler decided nothing.
pub fn evaluate(state: &Snapshot, eval: &Evaluation, now: i64, made: &mut Made) -> Result<Answer, ScheduleError> {
    evaluate_until(state, eval, now, made, &Limits::default())
}

/// More orders are not remembered: each takes four bytes for each candidate.
const MOST_ORDERS: usize = 2048;

/// Orders of candidates by seed and count.
type KnownOrders = Mutex<HashMap<(u64, usize), Arc<[u32]>>>;

/// Orders of candidates, remembered by seed and count: simulations that begin with the same state have the same seeds.
pub(crate) fn remembered_orders() -> NodeOrder {
    let known = KnownOrders::default();
    NodeOrder::Remembered(Orders::new(move |seed, count| {
        let known_one = known.lock().get(&(seed, count)).cloned();
        known_one.unwrap_or_else(|| {
            let new: Arc<[u32]> = order::places(seed, count).into();
            let mut known = known.lock();
            if known.len() < MOST_ORDERS {
                known.insert((seed, count), new.clone());
            }
            new
        })
    }))
}

/// How an evaluation ends, and in which order it visits candidates.
#[derive(Debug, Clone, Default)]
pub(crate) struct Limits {
    /// Ends it without a decision.
    pub stop: Stop,
    /// The order of candidates.
    pub order: NodeOrder,
}

impl Limits {
    /// The usual order.
    pub(crate) fn stopped_by(stop: &Stop) -> Limits {
        Limits { stop: stop.clone(), order: NodeOrder::Shuffle }
    }
}

/// [`evaluate`], which ends without a decision when it is asked to.
///
/// # Errors
/// The scheduler decided nothing; [`ScheduleError::Stopped`] if it was asked to end.
pub(crate) fn evaluate_until(
    state: &Snapshot,
    eval: &Evaluation,
    now: i64,
    made: &mut Made,
    limits: &Limits,
) -> Result<Answer, ScheduleError> {
    let mut answer = Answer::default();
    let Made { series, last_id, ports, drawn } = made;
    let mut context = Context {
        now,
        order: limits.order.clone(),
        new_id: &mut || {
            *last_id += 1;
            id(*series, *last_id)
        },
        random: &mut |n| {
            *drawn += 1;
            ports.below(n)
        },
        stopwatch: &mut || 0,
        stop: &|| limits.stop.now(),
    };
    encamp_scheduler::process(state, eval, &mut context, &mut answer)?;
    Ok(answer)
}

fn id(series: u16, number: u64) -> String {
    format!("00000000-0000-0000-{series:04x}-{number:012x}")
}
