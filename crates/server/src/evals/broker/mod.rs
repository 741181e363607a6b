//! The evaluation broker: delivers evaluations to workers, at least once each and at most one per job at a time
//! (`docs/spec/server.md §4`).
//!
//! - This file: [`Broker`], the state machine. It has no clock, lock or random source: times (Unix nanoseconds), tokens
//!   and random numbers are parameters. The owner calls [`Broker::tick`] at [`Broker::next_deadline`] and wakes the
//!   workers that wait for the schedulers of [`Broker::take_signals`].
//! - [`error`]: errors. [`stats`]: statistics.
//! - `known`: the evaluations with their states. `timers`: nack timers and delays. `order`: the order of evaluations.

pub mod error;
mod known;
mod order;
pub mod stats;
mod timers;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use encamp_model::{Evaluation, JobKey, JobType, SECOND};

pub use error::{BrokerError, SCHEDULER_VERSION, check_request};
use known::{Entry, Known, Out, Place, Reason, Waiting};
use order::{ById, JobSlot, Ready};
pub use stats::{Delivery, Ending, Finished, QueueName, QueueStats, Stats};

/// How long a worker may take before an evaluation is nacked, in nanoseconds.
pub(crate) const NACK_TIMEOUT: i64 = 60 * SECOND;
/// The number of deliveries after which an evaluation has failed.
pub(crate) const DELIVERY_LIMIT: u32 = 3;
/// The delay after the first nack, in nanoseconds.
pub(crate) const INITIAL_NACK_DELAY: i64 = SECOND;
/// The delay after later nacks, per earlier delivery, in nanoseconds.
pub(crate) const SUBSEQUENT_NACK_DELAY: i64 = 20 * SECOND;
/// Maximum number of evaluations cancelled by one log entry: applied within some tens of milliseconds, so that other
/// writes do not wait for long.
pub const CANCEL_BATCH: usize = 8192;

#[derive(Debug, Default)]
struct Queue {
    ready: BinaryHeap<Ready>,
    unacked: usize,
}

/// The broker. A new broker is disabled. All times are nanoseconds of a clock that nobody sets
/// ([`encamp_host::ids::steady`]).
#[derive(Debug, Default)]
pub struct Broker {
    enabled: bool,
    /// See [`Broker::set_shedding`].
    hoard: bool,
    known: Known,
    jobs: HashMap<JobKey, JobSlot>,
    queues: BTreeMap<QueueName, Queue>,
    /// Nack timers, waits and delays, by due time.
    timers: BTreeSet<(i64, ById)>,
    /// Evaluations to cancel, in groups that became cancelable together.
    cancelable: VecDeque<VecDeque<Arc<Evaluation>>>,
    cancelable_count: usize,
    pending_count: usize,
    waiting_count: usize,
    delayed_count: usize,
    signals: BTreeSet<QueueName>,
    /// How far the machine's clock is ahead of the clock of all times here.
    wall_ahead: i64,
    /// Counts the outstanding evaluations a second time, as a check.
    #[cfg(test)]
    ledger: crate::deterministic::ledger::Ledger,
}

impl Broker {
    /// A disabled broker.
    pub fn new() -> Broker {
        Broker::default()
    }

    /// Whether the broker is enabled.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// Enables or disables the broker. Disabling drops all evaluations and tokens; all waiting workers have to check
    /// again.
    pub fn set_enabled(&mut self, enabled: bool) {
        if !enabled {
            *self = Broker { hoard: self.hoard, ..Broker::default() };
        }
        self.enabled = enabled;
    }

    /// Whether pending evaluations that were superseded by a newer one of their job are cancelled. This is the default;
    /// otherwise every evaluation is scheduled, as before Nomad 1.4.3, which serves to measure the difference
    /// (`docs/spec/server.md §5.4`).
    pub(crate) fn set_shedding(&mut self, shed: bool) {
        self.hoard = !shed;
    }

    /// All times of the broker are those of a clock that nobody sets. `WaitUntil` is one of the machine's clock, which is
    /// this far ahead, in nanoseconds.
    pub(crate) fn set_wall_ahead(&mut self, ahead: i64) {
        self.wall_ahead = ahead;
    }

    /// Enqueues an evaluation. A known evaluation is ignored, unless `token` is that of its current delivery: then it
    /// is enqueued again after the ack. Does nothing while disabled.
    pub(crate) fn enqueue(&mut self, eval: Arc<Evaluation>, token: Option<&str>, now: i64) {
        self.admit(eval, token, now, true);
    }

    /// Enqueues evaluations with their tokens. This is atomic as long as the caller holds the lock of the broker.
    pub fn enqueue_all(&mut self, evals: impl IntoIterator<Item = (Arc<Evaluation>, Option<String>)>, now: i64) {
        for (eval, token) in evals {
            self.admit(eval, token.as_deref(), now, true);
        }
    }

    /// Enqueues an evaluation stored under an earlier leader: the time since it was enqueued is unknown.
    pub fn restore(&mut self, eval: Arc<Evaluation>, now: i64) {
        self.admit(eval, None, now, false);
    }

    fn admit(&mut self, eval: Arc<Evaluation>, token: Option<&str>, now: i64, timed: bool) {
        if !self.enabled {
            return;
        }
        if let Some(entry) = self.known.get_mut(&eval.id) {
            if let (Place::Out(out), Some(token)) = (&mut entry.place, token)
                && out.token == token
            {
                out.requeue = Some(eval);
            }
            return;
        }
        let wait = if eval.wait > 0 {
            Some((now.saturating_add(eval.wait), Reason::Wait))
        } else {
            eval.wait_until.unix_nanos().map(|due| (due.saturating_sub(self.wall_ahead), Reason::WaitUntil))
        };
        self.known.insert(eval.clone(), Entry::new(timed));
        match wait {
            Some((due, reason)) if due > now => self.wait(eval, due, reason),
            _ => self.line_up(eval, now),
        }
    }

    /// Delays a known evaluation until a time.
    fn wait(&mut self, eval: Arc<Evaluation>, due: i64, reason: Reason) {
        if let Some(entry) = self.known.get_mut(&eval.id) {
            entry.place = Place::Waiting(Box::new(Waiting { due, reason }));
            self.waiting_count += 1;
            self.delayed_count += usize::from(reason == Reason::WaitUntil);
            self.timers.insert((due, ById(eval)));
        }
    }

    /// Gives a known evaluation the slot of its job, or adds it to the pending ones.
    fn line_up(&mut self, eval: Arc<Evaluation>, now: i64) {
        self.start_clock(&eval, now);
        match self.jobs.entry(eval.job_key()) {
            std::collections::hash_map::Entry::Occupied(mut slot) => {
                slot.get_mut().push(eval);
                self.pending_count += 1;
            }
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(JobSlot::taken_by(&eval));
                self.make_ready(eval);
            }
        }
    }

    fn start_clock(&mut self, eval: &Evaluation, now: i64) {
        if let Some(entry) = self.known.get_mut(&eval.id) {
            entry.start_clock(now);
        }
    }

    /// Adds an evaluation to the queue of its scheduler.
    fn make_ready(&mut self, eval: Arc<Evaluation>) {
        let queue = QueueName::Scheduler(eval.r#type.clone());
        self.add_to(queue, eval);
    }

    fn add_to(&mut self, queue: QueueName, eval: Arc<Evaluation>) {
        self.signals.insert(queue.clone());
        self.queues.entry(queue).or_default().ready.push(Ready(eval));
    }

    /// The queues that received evaluations since the last call; workers that wait for one of them have to be woken.
    pub(crate) fn take_signals(&mut self) -> BTreeSet<QueueName> {
        std::mem::take(&mut self.signals)
    }

    fn top_priority(&self, queue: &QueueName) -> Option<i64> {
        self.queues.get(queue)?.ready.peek().map(|r| r.0.priority)
    }

    /// Dequeues the evaluation with the highest priority for these schedulers, if there is one. `choice` is a random
    /// number that picks among queues of equal priority; `token` creates a new UUID.
    pub fn dequeue(
        &mut self,
        schedulers: &[JobType],
        now: i64,
        choice: u64,
        token: impl FnOnce() -> String,
    ) -> Result<Option<Delivery>, BrokerError> {
        if !self.enabled {
            return Err(BrokerError::Disabled);
        }
        let offer = |scheduler: &JobType| {
            let queue = QueueName::Scheduler(scheduler.clone());
            self.top_priority(&queue).map(|priority| (priority, queue))
        };
        let mut offers: Vec<(i64, QueueName)> = schedulers.iter().filter_map(offer).collect();
        let Some(best) = offers.iter().map(|(priority, _)| *priority).max() else { return Ok(None) };
        offers.retain(|(priority, _)| *priority == best);
        let pick = usize::try_from(choice % offers.len() as u64).unwrap_or(0);
        Ok(self.deliver(offers.swap_remove(pick).1, now, token))
    }

    /// Dequeues the first evaluation that reached the delivery limit, if there is one. `token` creates a new UUID.
    pub fn dequeue_failed(
        &mut self,
        now: i64,
        token: impl FnOnce() -> String,
    ) -> Result<Option<Delivery>, BrokerError> {
        if !self.enabled {
            return Err(BrokerError::Disabled);
        }
        Ok(self.deliver(QueueName::Failed, now, token))
    }

    fn deliver(&mut self, name: QueueName, now: i64, token: impl FnOnce() -> String) -> Option<Delivery> {
        let queue = self.queues.get_mut(&name)?;
        let Ready(eval) = queue.ready.pop()?;
        let entry = self.known.get_mut(&eval.id)?;
        queue.unacked += 1;
        entry.deliveries = entry.deliveries.saturating_add(1);
        let (token, deadline) = (token(), now.saturating_add(NACK_TIMEOUT));
        let out =
            Out { token: token.clone(), queue: name.clone(), since: now, deadline: Some(deadline), requeue: None };
        entry.place = Place::Out(Box::new(out));
        self.timers.insert((deadline, ById(eval.clone())));
        let (deliveries, wait) = (entry.deliveries, entry.enqueued().map(|t| now.saturating_sub(t)));
        #[cfg(test)]
        if self.ledger.delivered(&eval, eval.job_key()) {
            self.add_to(name.clone(), eval.clone());
        }
        Some(Delivery { eval, token, queue: name, deliveries, wait })
    }

    fn out(&self, id: &str) -> Option<&Out> {
        match &self.known.get(id)?.place {
            Place::Out(out) => Some(out),
            _ => None,
        }
    }

    /// Acknowledges an evaluation. The greatest evaluation pending behind it becomes ready, all other pending ones
    /// become cancelable.
    pub fn ack(&mut self, id: &str, token: &str, now: i64) -> Result<Finished, BrokerError> {
        let out = self.out(id).ok_or(BrokerError::NotFound)?;
        if out.token != token {
            return Err(BrokerError::WrongToken);
        }
        if out.deadline.is_some_and(|d| d <= now) {
            return Err(BrokerError::TooLate);
        }
        let (finished, requeue) = self.take_in(id, Ending::Acked, now).ok_or(BrokerError::NotFound)?;
        self.known.remove(id);
        self.free(&finished.eval);
        if let Some(eval) = requeue {
            self.enqueue(eval, None, now);
        }
        Ok(finished)
    }

    /// Nacks an evaluation: it is delivered again later, or moves to the failed queue. An evaluation that was to be
    /// enqueued after the ack is dropped.
    pub fn nack(&mut self, id: &str, token: &str, now: i64) -> Result<Finished, BrokerError> {
        let out = self.out(id).ok_or(BrokerError::NotFound)?;
        if out.token != token {
            return Err(BrokerError::WrongToken);
        }
        self.give_back(id, Ending::Nacked, now).ok_or(BrokerError::NotFound)
    }

    fn give_back(&mut self, id: &str, ending: Ending, now: i64) -> Option<Finished> {
        let (finished, _) = self.take_in(id, ending, now)?;
        let deliveries = self.known.get(id).map_or(0, |e| e.deliveries);
        let eval = finished.eval.clone();
        if deliveries >= DELIVERY_LIMIT {
            self.start_clock(&eval, now);
            self.add_to(QueueName::Failed, eval);
        } else {
            let delay = match deliveries {
                0 | 1 => INITIAL_NACK_DELAY,
                n => i64::from(n - 1).saturating_mul(SUBSEQUENT_NACK_DELAY),
            };
            self.wait(eval, now.saturating_add(delay), Reason::Nacked);
        }
        Some(finished)
    }

    /// Ends a delivery. Returns the data for the metrics and the evaluation to be enqueued after it.
    fn take_in(&mut self, id: &str, ending: Ending, now: i64) -> Option<(Finished, Option<Arc<Evaluation>>)> {
        let eval = self.known.get_key_value(id)?.0.0.clone();
        let entry = self.known.get_mut(id)?;
        let response = entry.enqueued().map(|t| now.saturating_sub(t));
        let Place::Out(out) = std::mem::replace(&mut entry.place, Place::Queued) else { return None };
        if let Some(deadline) = out.deadline {
            self.timers.remove(&(deadline, ById(eval.clone())));
        }
        if let Some(queue) = self.queues.get_mut(&out.queue) {
            queue.unacked = queue.unacked.saturating_sub(1);
        }
        let process = now.saturating_sub(out.since);
        #[cfg(test)]
        self.ledger.ended(id);
        Some((Finished { eval, ending, process, response }, out.requeue))
    }

    /// Releases the job's slot, or gives it to the next evaluation.
    fn free(&mut self, eval: &Evaluation) {
        let key = eval.job_key();
        let Some(slot) = self.jobs.get_mut(&key).filter(|s| s.holder == eval.id) else { return };
        let Some((kept, rest)) = slot.pass_on() else {
            self.jobs.remove(&key);
            return;
        };
        if self.hoard {
            rest.into_iter().for_each(|e| slot.push(e));
            self.pending_count = self.pending_count.saturating_sub(1);
            return self.make_ready(kept);
        }
        self.pending_count = self.pending_count.saturating_sub(rest.len() + 1);
        self.cancelable_count += rest.len();
        if !rest.is_empty() {
            self.cancelable.push_back(rest.into());
        }
        self.make_ready(kept);
    }

    /// The token of an outstanding evaluation.
    #[cfg(test)]
    pub(crate) fn outstanding(&self, id: &str) -> Option<&str> {
        self.out(id).map(|out| out.token.as_str())
    }

    /// Takes up to `most` superseded evaluations, oldest first; the caller cancels them in the store. Core evaluations
    /// are not stored and are dropped instead.
    pub fn take_cancelable(&mut self, most: usize) -> Vec<Arc<Evaluation>> {
        let mut batch = Vec::with_capacity(most.min(self.cancelable_count));
        while batch.len() < most {
            let Some(run) = self.cancelable.front_mut() else { break };
            let Some(eval) = run.pop_front() else {
                self.cancelable.pop_front();
                continue;
            };
            self.cancelable_count = self.cancelable_count.saturating_sub(1);
            self.known.remove(&eval.id);
            if eval.r#type != JobType::Core {
                batch.push(eval);
            }
        }
        batch
    }

    /// Drops the pending ones of evaluations that have ended in the store: if one of them were retained, the others
    /// would be cancelled in favor of it, and a new leader would know of none. Returns how many there were, and those of
    /// the others that are in the broker.
    pub(crate) fn drop_pending<'e>(
        &mut self,
        ended: impl IntoIterator<Item = &'e Evaluation>,
    ) -> (usize, Vec<&'e Evaluation>) {
        let mut queued: Vec<&Evaluation> = Vec::new();
        let mut by_job: HashMap<JobKey, HashSet<&str>> = HashMap::new();
        for e in ended {
            if let Some((ById(known), Entry { place: Place::Queued, .. })) = self.known.get_key_value(&e.id) {
                by_job.entry(known.job_key()).or_default().insert(&e.id);
                queued.push(e);
            }
        }
        // A job is searched once, for all of its evaluations.
        let mut dropped = HashSet::new();
        for (job, ids) in by_job {
            if let Some(slot) = self.jobs.get_mut(&job) {
                dropped.extend(slot.remove(|id| ids.get(id).copied()));
            }
        }
        self.pending_count = self.pending_count.saturating_sub(dropped.len());
        dropped.iter().for_each(|id| drop(self.known.remove(id)));
        queued.retain(|e| !dropped.contains(e.id.as_str()));
        (dropped.len(), queued)
    }

    /// Drops a ready evaluation because it has ended in the store, as those of a purged job do; the next one of its job
    /// takes its place. Returns whether there was one.
    pub(crate) fn drop_ready(&mut self, id: &str) -> bool {
        let Some((ById(eval), Entry { place: Place::Queued, .. })) = self.known.get_key_value(id) else { return false };
        let eval = eval.clone();
        // At most one evaluation of a job is ready: others are not searched for.
        if self.jobs.get(&eval.job_key()).is_none_or(|slot| slot.holder != eval.id) {
            return false;
        }
        let Some(queue) = self.queues.get_mut(&QueueName::Scheduler(eval.r#type.clone())) else { return false };
        let ready = queue.ready.len();
        queue.ready.retain(|r| r.0.id != eval.id);
        if queue.ready.len() == ready {
            return false;
        }
        self.known.remove(id);
        self.free(&eval);
        true
    }

    /// Returns evaluations that could not be cancelled to the front of the list. Evaluations that were enqueued
    /// meanwhile are ignored.
    pub(crate) fn put_back(&mut self, evals: Vec<Arc<Evaluation>>) {
        if !self.enabled {
            return;
        }
        let mut run = VecDeque::with_capacity(evals.len());
        for eval in evals {
            if !self.known.contains(&eval.id) {
                self.known.insert(eval.clone(), Entry::new(false));
                run.push_back(eval);
            }
        }
        self.cancelable_count += run.len();
        self.cancelable.push_front(run);
    }

    /// The number of evaluations by state.
    pub fn stats(&self) -> Stats {
        let of = |q: &Queue| QueueStats { ready: q.ready.len(), unacked: q.unacked };
        let by_queue: BTreeMap<QueueName, QueueStats> = self.queues.iter().map(|(n, q)| (n.clone(), of(q))).collect();
        Stats {
            ready: by_queue.values().map(|q| q.ready).sum(),
            unacked: by_queue.values().map(|q| q.unacked).sum(),
            pending: self.pending_count,
            waiting: self.waiting_count,
            cancelable: self.cancelable_count,
            delayed: self.delayed_count,
            by_queue,
        }
    }

    /// Whether an evaluation is ready.
    pub(crate) fn has_ready(&self) -> bool {
        self.queues.values().any(|q| !q.ready.is_empty())
    }

    /// The evaluations that wait for their `WaitUntil`, and when that is (metric `eval_waiting`).
    pub fn delayed(&self) -> impl Iterator<Item = (&Arc<Evaluation>, i64)> {
        self.timers.iter().filter_map(|(due, key)| match self.known.get(&key.0.id).map(|e| &e.place) {
            Some(Place::Waiting(w)) if w.reason == Reason::WaitUntil => Some((&key.0, *due)),
            _ => None,
        })
    }
}

/// The minimum state index on which an evaluation must be scheduled: the newest change of it and of all stored
/// evaluations of its job (`docs/spec/server.md §4.4`).
pub fn wait_index<'a>(eval: &Evaluation, of_job: impl IntoIterator<Item = &'a Evaluation>) -> u64 {
    of_job.into_iter().map(|e| e.modify_index).fold(eval.modify_index, u64::max)
}
