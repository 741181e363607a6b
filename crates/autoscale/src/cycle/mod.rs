//! One evaluation of a pool (`docs/spec/cluster-scaling.md §3`): what it has, what it needs, and whether an operation
//! begins.

use std::collections::HashSet;

use encamp_model::Time;
use encamp_state::State;

use crate::arithmetic::Arithmetic;
use crate::candidate::candidates;
use crate::checks::{self, Check, CheckResult};
use crate::proof::{Proof, prove};
use crate::protection::Protection;
use crate::provider::{ProviderError, ScalingGroup};
use crate::record::{Direction, Operation, Record, Step};
use crate::registry::Pool;
use crate::view::{JobCache, NodeView, PoolView, instance_id, view};

/// The input of an evaluation.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The cluster.
    pub state: &'a State,
    /// The known facts about its jobs, shared by all pools of this state.
    pub jobs: &'a JobCache,
    /// The pool.
    pub pool: &'a Pool,
    /// Its state object.
    pub record: &'a Record,
    /// Its scaling group, or why it could not be read. `None`: there is no provider to ask (a plan from a file); the
    /// check of the provider's limits is left out then.
    pub group: Option<Result<&'a ScalingGroup, &'a ProviderError>>,
    /// The protection of nodes from removal, besides that by jobs (§6).
    pub protection: &'a Protection,
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
    /// The scheduler's result for the removal of the first candidate.
    pub proof: Option<Proof>,
    /// How it ended.
    pub outcome: Outcome,
    /// The record as it is to be written: counts of requests, candidates, and the operation that begins. A time of the
    /// last operation that lies in the future is replaced by the time of the evaluation, so that it delays no longer
    /// than the cooldown.
    pub record: Record,
}

/// Evaluates a pool (§3). Nothing is done: the outcome says what is to be done, and the record what is to be written
/// first.
pub fn evaluate(input: &Input<'_>) -> Evaluation {
    let pool_view = view(input.state, input.jobs, input.pool, input.protection);
    let arithmetic = Arithmetic::new(&pool_view, &input.pool.parameters);
    let ended = match () {
        () if input.record.failsafe_mode => Some(Outcome::Failsafe),
        () if input.record.operation.is_some() => Some(Outcome::InProgress),
        () => None,
    };
    let mut cycle = Cycle {
        input,
        arithmetic: &arithmetic,
        chosen: Vec::new(),
        checks: Vec::new(),
        proof: None,
        record: input.record.clone(),
    };
    let outcome = match ended {
        Some(outcome) => outcome,
        None => cycle.run(&pool_view),
    };
    let Cycle { chosen, checks, proof, record, .. } = cycle;
    let candidates = chosen.into_iter().map(|n| n.id.clone()).collect();
    Evaluation { candidates, checks, proof, outcome, record, arithmetic, view: pool_view }
}

/// An evaluation in progress.
struct Cycle<'a> {
    input: &'a Input<'a>,
    arithmetic: &'a Arithmetic,
    /// Nodes that could be removed, best first.
    chosen: Vec<&'a NodeView>,
    checks: Vec<CheckResult>,
    proof: Option<Proof>,
    record: Record,
}

impl<'a> Cycle<'a> {
    /// The checks in order (§4), and what follows.
    fn run(&mut self, view: &'a PoolView) -> Outcome {
        let now = self.input.now;
        let failed = self.limits(view);
        self.record.correct_times(now);
        if let Some((check, reason)) = failed {
            self.record.reset_requests();
            return Outcome::Denied { check, reason };
        }
        self.count_request()
    }

    /// Checks 1 to 4; the first that fails, with its reason.
    fn limits(&mut self, view: &'a PoolView) -> Option<(Check, String)> {
        let (figures, parameters) = (self.arithmetic, &self.input.pool.parameters);
        if view.nodes.is_empty() {
            return self.check(CheckResult {
                check: Check::PoolLimits,
                passed: false,
                detail: "the pool has no nodes".into(),
            });
        }
        let removal = match figures.direction {
            Direction::Out => checks::no_removal(),
            Direction::In => self.removal(view),
        };
        let chosen = self.chosen.first().copied();
        self.check(removal)
            .or_else(|| {
                self.check(match self.input.group {
                    Some(group) => checks::provider_limits(figures, group, chosen),
                    None => checks::provider_limits_unknown(chosen),
                })
            })
            .or_else(|| self.check(checks::pool_limits(figures, parameters)))
            .or_else(|| {
                let record = self.input.record;
                self.check(checks::cooldown(record, figures.direction, parameters, self.input.now))
            })
    }

    /// Notes what a check found; gives the reason if it failed.
    fn check(&mut self, result: CheckResult) -> Option<(Check, String)> {
        let failed = (!result.passed).then(|| (result.check, self.with_warning(&result.detail)));
        self.checks.push(result);
        failed
    }

    /// A reason, with what an operator has to know about the size of the pool.
    fn with_warning(&self, reason: &str) -> String {
        let a = self.arithmetic;
        if !a.too_small {
            return reason.to_string();
        }
        let (nodes, tolerance) = (a.nodes, a.fault_tolerance);
        format!(
            "{reason}; the pool is too small for its fault tolerance: {nodes} nodes cannot hold back the capacity of \
             {tolerance} beside the scaling reserve"
        )
    }

    /// Check 1: the arithmetic first, then the choice of a node, and the scheduler's proof for it.
    fn removal(&mut self, view: &'a PoolView) -> CheckResult {
        let by_figures = checks::removal(self.arithmetic);
        self.chosen = candidates(view, self.arithmetic.metric);
        if !by_figures.passed {
            return by_figures;
        }
        let Some(node) = self.chosen.first().copied() else {
            return checks::all_protected(&view.nodes);
        };
        if let Some(denied) = self.left_behind(view, node) {
            return denied;
        }
        let proof = prove(self.input.state, &node.id, self.input.now);
        let by_scheduler = checks::proof(node, proof.as_ref());
        self.proof = proof.ok();
        if !by_scheduler.passed {
            return by_scheduler;
        }
        CheckResult { detail: format!("{}; {}", by_figures.detail, by_scheduler.detail), ..by_figures }
    }

    /// Why the rest of the pool would have to grow again if a node left, if it would: averages hide larger nodes.
    fn left_behind(&self, view: &PoolView, node: &NodeView) -> Option<CheckResult> {
        let left = view.clone().without(&node.id);
        if left.nodes.is_empty() {
            return None;
        }
        let left = checks::left_behind(node, &Arithmetic::new(&left, &self.input.pool.parameters));
        (!left.passed).then_some(left)
    }

    /// Check 5, and the operation if it is time for it.
    fn count_request(&mut self) -> Outcome {
        let direction = self.arithmetic.direction;
        let (count, other) = match direction {
            Direction::In => (&mut self.record.scalein_requests, &mut self.record.scaleout_requests),
            Direction::Out => (&mut self.record.scaleout_requests, &mut self.record.scalein_requests),
        };
        *count = count.saturating_add(1).max(1);
        *other = 0;
        let requests = *count;
        let parameters = &self.input.pool.parameters;
        let result = checks::consecutive_requests(requests, direction, parameters);
        if self.check(result).is_some() {
            return Outcome::Requested { requests, threshold: parameters.scaling_threshold };
        }
        self.record.reset_requests();
        let operation = self.operation();
        self.record.operation = Some(operation.clone());
        Outcome::Begin(Box::new(operation))
    }

    /// The operation as it begins. Without a provider (a plan) the registered nodes stand for the group's desired size.
    fn operation(&mut self) -> Operation {
        let group = self.input.group.and_then(Result::ok);
        let desired = group.map_or(self.arithmetic.nodes, |g| g.desired);
        let direction = self.arithmetic.direction;
        let now = Time::from_unix_nanos(self.input.now);
        let operation = Operation {
            direction,
            step: match direction {
                Direction::In => Step::Drain,
                Direction::Out => Step::SetDesired,
            },
            node_id: String::new(),
            instance_ids: Vec::new(),
            started: now,
            step_started: now,
            target: checks::target(desired, self.arithmetic),
            started_index: self.input.state.index,
            unregistered: Vec::new(),
        };
        match (direction, self.chosen.first()) {
            (Direction::In, chosen) => {
                self.record.eligible_nodes = self.chosen.iter().map(|n| n.id.clone()).collect();
                Operation {
                    node_id: chosen.map(|n| n.id.clone()).unwrap_or_default(),
                    instance_ids: chosen.and_then(|n| n.instance_id.clone()).into_iter().collect(),
                    ..operation
                }
            }
            (Direction::Out, _) => {
                let unregistered = group.map(|g| unregistered(self.input.state, g)).unwrap_or_default();
                Operation { unregistered, ..operation }
            }
        }
    }
}

/// The active instances of a group that belong to no node of the cluster.
fn unregistered(state: &State, group: &ScalingGroup) -> Vec<String> {
    let known: HashSet<&str> = state.nodes().filter_map(|e| instance_id(&e.node)).collect();
    group.active().filter(|i| !known.contains(i.id.as_str())).map(|i| i.id.clone()).collect()
}

#[cfg(test)]
mod tests;
