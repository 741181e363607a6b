//! A scale-out or scale-in as a state machine (`docs/spec/cluster-scaling.md §5`, `§6`, `§8`).
//!
//! [`next`] computes the next step from the state object and the observation alone. Every step is written before its
//! side effect, and a side effect is requested only while the observation shows that it has not happened. So an
//! operation can be resumed after a crash at any point, by calling [`next`] again.
//!
//! - `scale_out`, `scale_in`: the steps. `evacuation`: whether the allocations of a drained node run elsewhere. `demand`:
//!   whether the pool needs it back.

pub(crate) mod demand;
mod evacuation;
mod scale_in;
mod scale_out;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use encamp_model::Time;
use encamp_state::State;

use crate::params::PoolParameters;
use crate::provider::ScalingGroup;
use crate::record::{Direction, Operation, Record, Step};

/// How many instances one step deals with at most. What a provider reports beyond is left to later rounds.
const MOST_INSTANCES: usize = 100;

/// The observed state of the cluster and the scaling group.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// The cluster.
    pub state: &'a State,
    /// The scaling group of the pool.
    pub group: &'a ScalingGroup,
}

/// How long the steps of an operation may take (`docs/spec/cluster-scaling.md §5, §6`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until the group shows as many instances as desired.
    pub instances: Duration,
    /// Until every new instance is a ready node of the pool.
    pub nodes: Duration,
    /// The deadline that the cluster gives a drain.
    pub drain_deadline: Duration,
    /// How much longer than its deadline a drain is waited for.
    pub drain_grace: Duration,
    /// Until a terminated instance has left its group.
    pub gone: Duration,
    /// Until the group shows the desired size that a termination leaves it with.
    pub read_back: Duration,
}

impl Limits {
    /// The limits of `docs/spec/cluster-scaling.md §5 and §6` with that deadline of drains.
    pub fn new(drain_deadline: Duration) -> Limits {
        Limits {
            instances: Duration::from_secs(180),
            nodes: Duration::from_secs(300),
            drain_deadline,
            drain_grace: Duration::from_secs(120),
            gone: Duration::from_secs(600),
            read_back: Duration::from_secs(30),
        }
    }
}

/// Something that changes the cluster or the scaling group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The desired size of the group is set.
    SetDesired(i64),
    /// An instance of the group is terminated.
    Terminate {
        /// The instance.
        instance: String,
        /// The desired size is decremented; otherwise the group replaces the instance.
        decrement: bool,
    },
    /// An instance leaves the group with its place and keeps running.
    Detach {
        /// The instance.
        instance: String,
    },
    /// A node is drained.
    Drain {
        /// The node.
        node: String,
        /// How long its allocations have.
        deadline: Duration,
    },
    /// The drain of a node ends and the node becomes eligible.
    CancelDrain {
        /// The node.
        node: String,
    },
    /// A node is removed from the cluster.
    Purge {
        /// The node.
        node: String,
    },
}

impl Effect {
    /// Whether doing it twice does no more than doing it once. A decrement counts each time.
    pub fn repeatable(&self) -> bool {
        match self {
            Effect::SetDesired(_) | Effect::Drain { .. } | Effect::CancelDrain { .. } | Effect::Purge { .. } => true,
            Effect::Terminate { .. } | Effect::Detach { .. } => false,
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effect::SetDesired(n) => write!(f, "setting the desired size of the group to {n}"),
            Effect::Terminate { instance, .. } => write!(f, "terminating instance {instance}"),
            Effect::Detach { instance } => write!(f, "detaching instance {instance}"),
            Effect::Drain { node, .. } => write!(f, "draining node {node}"),
            Effect::CancelDrain { node } => write!(f, "cancelling the drain of node {node}"),
            Effect::Purge { node } => write!(f, "removing node {node} from the cluster"),
        }
    }
}

/// Something to notify, count and log once the record that goes with it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A scale-out is complete.
    ScaledOut {
        /// The instances that joined.
        instances: Vec<String>,
    },
    /// A scale-in is complete.
    ScaledIn {
        /// The node that was removed.
        node: String,
    },
    /// A scale-in ended because its pool needs the node: it is eligible again.
    TakenBack {
        /// The node.
        node: String,
    },
    /// A failure was counted.
    Failed {
        /// Direction of the operation.
        direction: Direction,
        /// The failure, as a sentence without its full stop.
        reason: String,
    },
    /// The failure that was counted last brought the pool into failsafe mode.
    EnteredFailsafe {
        /// The failure.
        reason: String,
    },
}

/// The next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The record is written by check-and-set, then the events are reported.
    Persist(Box<Record>, Vec<Event>),
    /// The effect is brought about, then the observation is made again.
    Act(Effect),
    /// The observation is made again later.
    Wait,
    /// There is nothing to do: no operation, or failsafe mode.
    Idle,
}

/// The part that failed for good: three tries did not help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure<'a> {
    /// An effect was refused, or was accepted and does not show.
    Effect(&'a Effect),
    /// The cluster could not be read.
    ReadingCluster,
    /// The scaling group could not be read.
    ReadingGroup,
}

/// The next step in the operation of a pool (`docs/spec/cluster-scaling.md §5, §6`). `now` is in Unix nanoseconds.
pub fn next(record: &Record, seen: &Observation<'_>, parameters: &PoolParameters, limits: &Limits, now: i64) -> Next {
    let Some(operation) = &record.operation else { return Next::Idle };
    if record.failsafe_mode {
        return Next::Idle;
    }
    let at = At { record, operation, seen, parameters, limits, now };
    // After a clock was set back the limits of time would else count from a moment that is yet to come.
    if operation.step_started.unix_nanos().is_none_or(|began| began > now) {
        return at.stay(|_| {});
    }
    match operation.step {
        Step::SetDesired => scale_out::set_desired(&at),
        Step::AwaitInstances => scale_out::await_instances(&at),
        Step::AwaitNodes => scale_out::await_nodes(&at),
        Step::Replace => scale_out::replace(&at),
        Step::Detach => scale_out::detach(&at),
        Step::Drain => scale_in::drain(&at),
        Step::AwaitDrained => scale_in::await_drained(&at),
        Step::CancelDrain => scale_in::cancel_drain(&at),
        Step::TakeBack => scale_in::take_back(&at),
        Step::Terminate => scale_in::terminate(&at),
        Step::Purge => scale_in::purge(&at),
    }
}

/// The record after something failed for good, and the notification about it. One failure is counted. A drain that cannot be
/// begun is rolled back; everything else stays where it is, so that later cycles, or an operator who ends failsafe
/// mode, resume it.
pub fn failed(
    record: &Record,
    failure: Failure<'_>,
    error: &dyn fmt::Display,
    parameters: &PoolParameters,
    now: i64,
) -> (Record, Vec<Event>) {
    let mut record = record.clone();
    let Some(operation) = &mut record.operation else { return (record, Vec::new()) };
    let direction = operation.direction;
    let reason = match failure {
        Failure::Effect(effect) => format!("{effect} failed: {error}"),
        Failure::ReadingCluster => format!("the cluster cannot be read: {error}"),
        Failure::ReadingGroup => format!("the scaling group cannot be read: {error}"),
    };
    let mut events = vec![Event::Failed { direction, reason: reason.clone() }];
    if let Failure::Effect(Effect::Drain { .. }) = failure {
        operation.step = Step::CancelDrain;
        operation.step_started = Time::from_unix_nanos(now);
        record.failure_count = record.failure_count.saturating_add(1);
    } else if record.count_failure(parameters.retry_threshold, now) {
        events.push(Event::EnteredFailsafe { reason });
    }
    note_notification(&mut record, &events, now);
    (record, events)
}

/// An operation in words: direction, step, node or instances.
pub fn describe(operation: &Operation) -> String {
    let instances = match operation.instance_ids.as_slice() {
        [] => "new instances".to_string(),
        [one] => format!("instance {one}"),
        all => format!("instances {}", all.join(", ")),
    };
    let node_ready = match operation.instance_ids.as_slice() {
        [one] => format!("instance {one} to become a ready node"),
        _ => format!("{instances} to become ready nodes"),
    };
    let (node, target) = (&operation.node_id, operation.target);
    match operation.step {
        Step::SetDesired => format!("out: setting the desired size of the group to {target}"),
        Step::AwaitInstances => format!("out: waiting until the group has {target} instances"),
        Step::AwaitNodes => format!("out: waiting for {node_ready}"),
        Step::Replace => format!("out: terminating {instances}, to be replaced"),
        Step::Detach => format!("out: detaching {instances}"),
        Step::Drain => format!("in: draining node {node}"),
        Step::AwaitDrained => format!("in: waiting until the allocations of node {node} run elsewhere"),
        Step::CancelDrain => format!("in: cancelling the drain of node {node}"),
        Step::TakeBack => format!("in: taking node {node} back, since the pool needs it"),
        Step::Terminate => format!("in: terminating {instances} of node {node}"),
        Step::Purge => format!("in: removing node {node} from the cluster"),
    }
}

/// Records which notifications are sent. The notification of failsafe mode is recorded after it was sent, not before,
/// so that a missed one is sent later.
fn note_notification(record: &mut Record, events: &[Event], now: i64) {
    if events.iter().any(|e| matches!(e, Event::EnteredFailsafe { .. })) {
        record.last_notification_event = None;
    } else if !events.is_empty() {
        record.last_notification_event = Some(Time::from_unix_nanos(now));
    }
}

/// Where an operation stands.
struct At<'a> {
    record: &'a Record,
    operation: &'a Operation,
    seen: &'a Observation<'a>,
    parameters: &'a PoolParameters,
    limits: &'a Limits,
    now: i64,
}

impl At<'_> {
    /// Whether the step has taken as long as `limit`.
    fn over(&self, limit: Duration) -> bool {
        let began = self.operation.step_started.unix_nanos().unwrap_or(self.now);
        let taken = u128::try_from(i128::from(self.now) - i128::from(began)).unwrap_or(0);
        taken >= limit.as_nanos()
    }

    /// The record with the operation at another step.
    fn moved(&self, step: Step, change: impl FnOnce(&mut Operation)) -> Record {
        let mut record = self.record.clone();
        if let Some(operation) = &mut record.operation {
            operation.step = step;
            operation.step_started = Time::from_unix_nanos(self.now);
            change(operation);
        }
        record
    }

    fn persist(&self, mut record: Record, events: Vec<Event>) -> Next {
        note_notification(&mut record, &events, self.now);
        Next::Persist(Box::new(record), events)
    }

    /// The next step.
    fn go(&self, step: Step) -> Next {
        self.persist(self.moved(step, |_| {}), Vec::new())
    }

    /// The same step, counted from now.
    fn stay(&self, change: impl FnOnce(&mut Operation)) -> Next {
        self.persist(self.moved(self.operation.step, change), Vec::new())
    }

    /// The operation succeeded.
    fn succeed(&self, event: Event) -> Next {
        let mut record = self.record.clone();
        record.operation = None;
        record.failure_count = 0;
        record.note_scaling(self.operation.direction, self.now);
        self.persist(record, vec![event])
    }

    /// A failure is counted, and the pool enters failsafe mode at the threshold at once; the operation is at `step`.
    fn fail(&self, step: Step, reason: String) -> Next {
        self.fail_with(self.moved(step, |_| {}), reason)
    }

    /// A failure is counted and the operation is over.
    fn fail_and_end(&self, reason: String) -> Next {
        self.fail_with(Record { operation: None, ..self.record.clone() }, reason)
    }

    fn fail_with(&self, mut record: Record, reason: String) -> Next {
        let mut events = vec![Event::Failed { direction: self.operation.direction, reason: reason.clone() }];
        if record.count_failure(self.parameters.retry_threshold, self.now) {
            events.push(Event::EnteredFailsafe { reason });
        }
        self.persist(record, events)
    }

    /// A failure is counted, and the step that undoes it or recovers from it comes before failsafe mode.
    fn fail_and_recover(&self, step: Step, reason: String, change: impl FnOnce(&mut Operation)) -> Next {
        let mut record = self.moved(step, change);
        record.failure_count = record.failure_count.saturating_add(1);
        self.persist(record, vec![Event::Failed { direction: self.operation.direction, reason }])
    }

    /// The recovery that [`At::fail_and_recover`] began is done: the operation is over, and failsafe mode begins if it
    /// is due.
    fn recovered(&self, reason: &str) -> Next {
        let mut record = Record { operation: None, ..self.record.clone() };
        let enters = record.enter_failsafe_if_due(self.parameters.retry_threshold, self.now);
        let events = if enters { vec![Event::EnteredFailsafe { reason: reason.to_string() }] } else { Vec::new() };
        self.persist(record, events)
    }

    /// Whether the next failure reaches the threshold.
    fn is_last_chance(&self) -> bool {
        self.record.failure_count.saturating_add(1) >= self.parameters.retry_threshold
    }
}
