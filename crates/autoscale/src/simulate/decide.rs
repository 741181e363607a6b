//! Evaluations of a simulation, and the resulting operations.

use encamp_model::SECOND;

use super::fleet::Launched;
use super::report::{Ending, Failure, Operation as SimulatedOperation, Refusal};
use super::run::{Event, RefusalKey, Repeated, Repeats, Run, nanos};
use crate::arithmetic::Arithmetic;
use crate::checks::Check;
use crate::cycle::{Evaluation, Input, Outcome, evaluate};
use crate::protection::Protection;
use crate::record::{Direction, Operation};
use crate::view::{JobCache, Metric};

/// How long a new instance may take to register (`docs/spec/cluster-scaling.md §5`).
const JOIN_LIMIT: i64 = 300 * SECOND;

impl Run<'_> {
    /// One evaluation, or the count of one that would be the same as the last.
    pub(super) fn cycle(&mut self) {
        self.report.cycles.total += 1;
        let Some(pool) = self.fleet.pool() else {
            self.report.cycles.without_nodes += 1;
            return;
        };
        if self.repeats == Repeats::Skipped {
            if self.record.failsafe_mode {
                self.report.cycles.failsafe += 1;
                return;
            }
            if self.record.operation.is_some() {
                self.report.cycles.in_progress += 1;
                return;
            }
            if let Some(r) = self.repeated.as_ref().filter(|r| self.now < r.until) {
                let key = r.key;
                self.refuse(key, None);
                return;
            }
        }
        let evaluation = evaluate(&Input {
            state: self.fleet.state(),
            jobs: &JobCache::default(),
            pool,
            record: &self.record,
            group: Some(Ok(&self.fleet.group)),
            protection: &Protection::default(),
            now: self.clock(),
        });
        match &evaluation.outcome {
            Outcome::Failsafe => self.report.cycles.failsafe += 1,
            Outcome::InProgress => self.report.cycles.in_progress += 1,
            Outcome::Requested { .. } => self.report.cycles.requested += 1,
            Outcome::Denied { check, reason } => {
                let by_scheduler = evaluation.proof.as_ref().is_some_and(|p| !p.holds());
                let key = (evaluation.arithmetic.direction, *check, by_scheduler);
                self.refuse(key, Some(reason));
                self.remember(key, &evaluation);
            }
            Outcome::Begin(operation) => {
                self.report.cycles.began += 1;
                self.record = evaluation.record.clone();
                self.begin(operation, &evaluation);
                return;
            }
        }
        self.record = evaluation.record;
    }

    /// The next evaluations repeat a refusal for as long as cluster and record stay as they are, if the refusal left
    /// the record as it was and nothing about it depends on the time but the cooldown.
    fn remember(&mut self, key: RefusalKey, evaluation: &Evaluation) {
        if evaluation.record != self.record || !self.fleet.settled() {
            return;
        }
        let until = match key.1 {
            Check::SimulatedRemoval | Check::ProviderLimits | Check::PoolLimits => i64::MAX,
            Check::Cooldown => {
                let cooldown = self.fleet.pool().map(|p| p.parameters.cooldown);
                let left = cooldown.map_or(0, |c| c.nanos_left(key.0, &self.record, self.clock()));
                self.now.saturating_add(left)
            }
            Check::ConsecutiveRequests => return,
        };
        self.repeated = Some(Repeated { key, until });
    }

    fn refuse(&mut self, key: RefusalKey, reason: Option<&String>) {
        self.report.cycles.refused += 1;
        let first = self.seconds();
        let (direction, check, by_scheduler) = key;
        let refusal = self.refusals.entry(key).or_insert_with(|| Refusal {
            direction,
            check,
            by_scheduler,
            count: 0,
            first,
            example: reason.cloned().unwrap_or_default(),
        });
        refusal.count += 1;
    }

    fn begin(&mut self, operation: &Operation, evaluation: &Evaluation) {
        let simulated = SimulatedOperation {
            started: self.seconds(),
            ended: None,
            direction: operation.direction,
            from: evaluation.arithmetic.nodes,
            to: operation.target,
            nodes: Vec::new(),
            reason: reason(&evaluation.arithmetic),
            ending: Ending::InProgress,
        };
        self.report.operations.push(simulated);
        match operation.direction {
            Direction::Out => {
                let boot = nanos(self.options.boot_time);
                for launched in self.fleet.grow(operation.target, boot, self.options.boot_failures) {
                    self.await_instance(launched);
                }
                self.changed();
            }
            Direction::In => {
                let name = self.fleet.name_of(&operation.node_id);
                if let Some(operation) = self.report.operations.last_mut() {
                    operation.nodes.push(name.clone());
                }
                if self.fleet.drain(&operation.node_id, self.clock()) {
                    let ends = self.now.saturating_add(nanos(self.options.drain_time));
                    self.at(ends, Event::Drained(operation.node_id.clone()));
                } else {
                    self.fail(format!("the drain of node {name} did not finish; it was cancelled"));
                    self.end(Ending::Failed);
                }
                self.changed();
            }
        }
    }

    fn await_instance(&mut self, launched: Launched) {
        self.awaited.insert(launched.instance.clone());
        match launched.boot.filter(|boot| *boot <= JOIN_LIMIT) {
            Some(boot) => self.at(self.now.saturating_add(boot), Event::Joined(launched.instance)),
            None => self.at(self.now.saturating_add(JOIN_LIMIT), Event::NotJoined(launched.instance)),
        }
    }

    /// Counts a failure; true if the pool is in failsafe mode now.
    fn fail(&mut self, problem: String) -> bool {
        let threshold = self.report.parameters.retry_threshold;
        let seconds = self.seconds();
        self.report.failures.push(Failure { seconds, problem });
        if self.record.count_failure(threshold, self.clock()) {
            self.report.failsafe.get_or_insert(seconds);
        }
        self.record.failsafe_mode
    }

    /// An instance is replaced, or, at the threshold of failures, detached (`docs/spec/cluster-scaling.md §5`).
    pub(super) fn not_joined(&mut self, instance: &str) {
        self.awaited.remove(instance);
        let limit = JOIN_LIMIT / SECOND;
        if self.fail(format!("instance {instance} did not register within {limit} s")) {
            self.fleet.detach(instance);
        } else {
            self.fleet.terminate(instance);
            let replacement = self.fleet.launch(nanos(self.options.boot_time), self.options.boot_failures);
            self.await_instance(replacement);
        }
        self.changed();
        self.settle_growth();
    }

    /// A scale-out ends when no instance is waited for any more.
    pub(super) fn settle_growth(&mut self) {
        match (self.awaited.is_empty(), self.record.failsafe_mode) {
            (false, _) => {}
            (true, true) => self.end(Ending::Failed),
            (true, false) => self.complete(),
        }
    }

    /// A node that drains is taken back when its pool needs it (`docs/spec/cluster-scaling.md §6`).
    pub(super) fn take_back_if_needed(&mut self) {
        let operation = self.record.operation.as_ref().filter(|o| o.direction == Direction::In);
        let Some(operation) = operation.filter(|o| self.fleet.needs_back(o)) else { return };
        let node = operation.node_id.clone();
        self.fleet.take_back(&node, self.clock());
        self.forget_removal(&node);
        self.changed();
        self.succeed(Ending::TakenBack);
    }

    pub(super) fn complete(&mut self) {
        self.succeed(Ending::Completed);
    }

    fn succeed(&mut self, ending: Ending) {
        let direction = self.record.operation.as_ref().map(|o| o.direction);
        let now = self.clock();
        self.record.failure_count = 0;
        direction.into_iter().for_each(|direction| self.record.note_scaling(direction, now));
        self.end(ending);
    }

    fn end(&mut self, ending: Ending) {
        self.record.operation = None;
        self.repeated = None;
        let ended = Some(self.seconds());
        if let Some(operation) = self.report.operations.last_mut() {
            (operation.ended, operation.ending) = (ended, ending);
        }
    }
}

/// Why an operation begins.
fn reason(a: &Arithmetic) -> String {
    let metric = a.metric.unwrap_or(Metric::Cpu);
    let (used, allowed, unit) = (a.consumed.get(metric), a.max_allowed, metric.unit());
    match (a.metric, a.direction) {
        (None, _) => "nothing runs on the pool".to_string(),
        (Some(m), Direction::Out) => format!("{}: {used} of {allowed} {unit} allowed are used", m.name()),
        (Some(m), Direction::In) => {
            format!("{}: {used} of {allowed} {unit} allowed are used, one node less suffices", m.name())
        }
    }
}
