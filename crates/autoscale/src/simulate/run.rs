//! The order of events: loads of the trace, evaluations, instances that register, drains that complete.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use encamp_model::SECOND;
use encamp_state::State;

use super::fleet::Fleet;
use super::report::{Cycles, Nodes, Parameters, Refusal, Report, Sample, Saturation};
use super::trace::{GroupKey, Trace, TraceError};
use super::{MOST_CYCLES, Options, SimulateError, choose};
use crate::arithmetic::Arithmetic;
use crate::checks::Check;
use crate::protection::Protection;
use crate::record::{Direction, Record, ResourceType};
use crate::view::{JobCache, view};

/// The treatment of evaluations that can only repeat the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeats {
    /// They are counted.
    Skipped,
    /// They are made again: only to compare the results.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests compare with it"))]
    Made,
}

/// Something that happens at a moment.
pub(super) enum Event {
    /// Counts change: a range of rows.
    Load(std::ops::Range<usize>),
    /// A launched instance registers.
    Joined(String),
    /// A launched instance has had its time and did not register.
    NotJoined(String),
    /// A node is drained, and is removed.
    Drained(String),
}

/// The result that an evaluation would repeat.
pub(super) struct Repeated {
    pub key: RefusalKey,
    /// Until when, nanoseconds since the beginning.
    pub until: i64,
}

/// Direction, check, and whether the scheduler refused.
pub(super) type RefusalKey = (Direction, Check, bool);

/// A simulation in progress.
pub(super) struct Run<'a> {
    trace: &'a Trace,
    pub options: &'a Options,
    pub repeats: Repeats,
    groups: BTreeSet<GroupKey>,
    pub fleet: Fleet,
    pub record: Record,
    /// Nanoseconds since the beginning.
    pub now: i64,
    events: BTreeMap<(i64, u64), Event>,
    number: u64,
    /// Instances that are waited for.
    pub awaited: BTreeSet<String>,
    pub repeated: Option<Repeated>,
    /// Unplaced allocations of the trace.
    unplaced: i64,
    short_since: Option<i64>,
    instance_nanos: i128,
    unplaced_nanos: i128,
    short_nanos: i64,
    longest_short: i64,
    pub refusals: BTreeMap<RefusalKey, Refusal>,
    pub report: Report,
}

/// Replays a trace.
pub(super) fn run(state: &State, trace: &Trace, options: &Options, repeats: Repeats) -> Result<Report, SimulateError> {
    let (pool, mut parameters) = choose(state, options.pool.as_deref())?;
    options.overrides.check(&parameters)?;
    options.overrides.apply(&mut parameters);
    trace.check(state)?;
    let interval = nanos(options.interval).max(1);
    let end = trace.seconds().saturating_mul(SECOND);
    if end / interval > MOST_CYCLES {
        return Err(SimulateError::TooManyCycles { seconds: trace.seconds() });
    }
    let fleet = Fleet::new(state.clone(), &pool, options.overrides, options.seed)?;
    let start = fleet.registered();
    let report = Report {
        pool: pool.clone(),
        seed: options.seed,
        seconds: trace.seconds(),
        interval: interval / SECOND,
        parameters: Parameters::of(&parameters),
        nodes: Nodes { start, least: start, most: start, ..Nodes::default() },
        cycles: Cycles::default(),
        operations: Vec::new(),
        refusals: Vec::new(),
        saturation: Saturation::default(),
        failures: Vec::new(),
        failsafe: None,
        samples: Vec::new(),
    };
    let mut run = Run {
        trace,
        options,
        repeats,
        groups: trace.groups(),
        fleet,
        record: Record::new(ResourceType::WorkerPool, &pool),
        now: 0,
        events: BTreeMap::new(),
        number: 0,
        awaited: BTreeSet::new(),
        repeated: None,
        unplaced: 0,
        short_since: None,
        instance_nanos: 0,
        unplaced_nanos: 0,
        short_nanos: 0,
        longest_short: 0,
        refusals: BTreeMap::new(),
        report,
    };
    run.plan_loads();
    run.changed();
    run.follow(interval, end)?;
    Ok(run.finish())
}

pub(super) fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

impl Run<'_> {
    /// Rows of the same moment are one event.
    fn plan_loads(&mut self) {
        let rows = self.trace.rows();
        let mut first = 0;
        for chunk in rows.chunk_by(|a, b| a.seconds == b.seconds) {
            let next = first + chunk.len();
            let seconds = chunk.first().map_or(0, |r| r.seconds);
            self.at(seconds.saturating_mul(SECOND), Event::Load(first..next));
            first = next;
        }
    }

    /// The removal of a drained node does not happen.
    pub(super) fn forget_removal(&mut self, node: &str) {
        self.events.retain(|_, event| !matches!(event, Event::Drained(drained) if drained == node));
    }

    pub(super) fn at(&mut self, time: i64, event: Event) {
        self.number = self.number.saturating_add(1);
        self.events.insert((time, self.number), event);
    }

    /// Events and evaluations by time until the end; at the same moment events go first.
    fn follow(&mut self, interval: i64, end: i64) -> Result<(), SimulateError> {
        let mut cycle = 0_i64;
        loop {
            let event = self.events.first_key_value().map(|((time, _), _)| *time);
            match event.filter(|time| *time <= cycle) {
                Some(time) if time > end => break,
                Some(time) => {
                    self.pass(time);
                    if let Some((_, event)) = self.events.pop_first() {
                        self.happen(event)?;
                    }
                }
                None if cycle > end => break,
                None => {
                    self.pass(cycle);
                    self.cycle();
                    cycle = cycle.saturating_add(interval);
                }
            }
        }
        self.pass(end);
        Ok(())
    }

    /// Lets time pass.
    fn pass(&mut self, to: i64) {
        let passed = to.saturating_sub(self.now).max(0);
        self.now = self.now.max(to);
        self.instance_nanos += i128::from(passed) * i128::from(self.fleet.instances());
        self.unplaced_nanos += i128::from(passed) * i128::from(self.unplaced);
        if self.unplaced > 0 {
            self.short_nanos = self.short_nanos.saturating_add(passed);
        }
    }

    fn happen(&mut self, event: Event) -> Result<(), SimulateError> {
        let clock = self.clock();
        match event {
            Event::Load(range) => {
                let rows = self.trace.rows().get(range).unwrap_or_default();
                let loaded = self
                    .fleet
                    .load(rows, clock)
                    .map_err(|e| TraceError { line: rows.first().map_or(0, |r| r.line), problem: e.to_string() })?;
                if loaded || self.report.samples.is_empty() {
                    self.changed();
                    self.take_back_if_needed();
                }
            }
            Event::Joined(instance) => {
                let name = self.fleet.join(&instance, clock);
                self.awaited.remove(&instance);
                if let Some(operation) = self.report.operations.last_mut() {
                    operation.nodes.push(name);
                }
                self.changed();
                self.settle_growth();
            }
            Event::NotJoined(instance) => self.not_joined(&instance),
            Event::Drained(node) => {
                self.fleet.remove(&node);
                self.changed();
                self.complete();
            }
        }
        Ok(())
    }

    /// Unix nanoseconds.
    pub(super) fn clock(&self) -> i64 {
        self.options.start.saturating_add(self.now)
    }

    pub(super) fn seconds(&self) -> i64 {
        self.now / SECOND
    }

    /// Notes how the pool is after something changed.
    pub(super) fn changed(&mut self) {
        self.repeated = None;
        let (wanted, unplaced) = self.fleet.demand(&self.groups);
        match (self.short_since, unplaced > 0) {
            (None, true) => self.short_since = Some(self.now),
            (Some(since), false) => {
                self.longest_short = self.longest_short.max(self.now.saturating_sub(since));
                self.short_since = None;
            }
            (None, false) | (Some(_), true) => {}
        }
        self.unplaced = unplaced;
        let most = &mut self.report.saturation.most;
        *most = (*most).max(unplaced);
        let nodes = self.fleet.registered();
        let counted = &mut self.report.nodes;
        (counted.least, counted.most) = (counted.least.min(nodes), counted.most.max(nodes));
        let seconds = self.seconds();
        let mut sample = Sample {
            seconds,
            nodes,
            instances: self.fleet.instances(),
            wanted,
            unplaced,
            metric: None,
            total: Default::default(),
            consumed: Default::default(),
            max_allowed: 0,
        };
        if let Some(pool) = self.fleet.pool() {
            let view = view(self.fleet.state(), &JobCache::default(), pool, &Protection::default());
            let figures = Arithmetic::new(&view, &pool.parameters);
            (sample.metric, sample.max_allowed) = (figures.metric, figures.max_allowed);
            (sample.total, sample.consumed) = (figures.total, figures.consumed);
        }
        if self.report.samples.last().is_some_and(|s| s.seconds == seconds) {
            self.report.samples.pop();
        }
        self.report.samples.push(sample);
    }

    fn finish(mut self) -> Report {
        if let Some(since) = self.short_since {
            self.longest_short = self.longest_short.max(self.now.saturating_sub(since));
        }
        let seconds = |nanos: i128| i64::try_from(nanos / i128::from(SECOND)).unwrap_or(i64::MAX);
        let saturation = &mut self.report.saturation;
        saturation.seconds = self.short_nanos / SECOND;
        saturation.longest = self.longest_short / SECOND;
        saturation.allocation_seconds = seconds(self.unplaced_nanos);
        let nodes = &mut self.report.nodes;
        nodes.end = self.fleet.registered();
        nodes.hours = hours(seconds(self.instance_nanos));
        nodes.hours_of_most = hours(nodes.most.saturating_mul(self.report.seconds));
        let mut refusals: Vec<Refusal> = self.refusals.into_values().collect();
        refusals.sort_by_key(|r| std::cmp::Reverse(r.count));
        self.report.refusals = refusals;
        self.report
    }
}

/// Seconds as hours with two decimals.
fn hours(seconds: i64) -> f64 {
    (seconds as f64 / 36.0).round() / 100.0
}
