//! What the leader keeps in memory: evaluation broker, blocked evaluations, plan queue, heartbeats, periodic jobs,
//! locks of variables. The machines are pure; here they get their locks, clocks and wake-ups, and are told about every
//! write.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc};

use crate::evals::blocked::BlockedEvals;
use crate::evals::broker::{Broker, BrokerError, Delivery, Finished};
use crate::evals::evaluating;
use crate::fsm::{Applied, Change};
use crate::jobs::periodic::PeriodicTracker;
use crate::nodes::heartbeat::{HeartbeatSettings, Heartbeats};
use crate::pipeline::plan_queue::{FLUSHED, PlanQueue};
use crate::storage::store::Listener;
use crate::var_locks::LockTimers;
use encamp_host::ids;
use encamp_host::threads::{Instant, Signal};
use encamp_model::*;
use encamp_ops::{Operation, VariableChange};

/// A plan on its way to the applier.
pub struct PendingPlan {
    /// The plan.
    pub plan: Plan,
    /// The index of the snapshot it was made on.
    pub snapshot_index: u64,
    /// Where the answer goes.
    pub answer: mpsc::Sender<Result<PlanAnswer, String>>,
    /// One of [`Queues::on_its_way`].
    pub on_its_way: Arc<()>,
}

/// What became of a plan.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PlanAnswer {
    /// The accepted parts.
    pub accepted: encamp_scheduler::plan_check::Checked,
    /// Schedule again on a state at least as new as this; 0: all was accepted.
    pub refresh_index: u64,
    /// The index of the entry; 0 if there was none.
    pub index: u64,
}

impl PlanAnswer {
    /// The accepted parts of a plan, written at an index (0: nothing was to be written). `refresh` as
    /// [`crate::pipeline::applier::judge`] gives it: who tries again has to see what was accepted, too.
    pub fn new(accepted: encamp_scheduler::plan_check::Checked, refresh: u64, index: u64) -> PlanAnswer {
        let refresh_index = if refresh == 0 { 0 } else { refresh.max(index) };
        PlanAnswer { accepted, refresh_index, index }
    }
}

fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The leader's queues. All are empty and disabled on other servers.
pub struct Queues {
    broker: Mutex<Broker>,
    broker_wakes: Signal,
    /// The same for those who wait for workers of other servers.
    broker_wakes_others: Notify,
    blocked: Mutex<BlockedEvals>,
    plans: Mutex<PlanQueue<PendingPlan>>,
    plans_wake: Signal,
    /// Held by every plan until it is answered.
    on_its_way: Arc<()>,
    heartbeats: Mutex<Heartbeats>,
    periodic: Mutex<PeriodicTracker>,
    locks: Mutex<LockTimers>,
    /// Acks wake the reaper of cancelable evaluations.
    acked: Notify,
    /// Other launches are due than before.
    periodic_changed: Notify,
    stopping: AtomicBool,
}

impl Queues {
    /// Disabled queues.
    pub fn new(heartbeat: HeartbeatSettings) -> Queues {
        Queues {
            broker: Mutex::new(Broker::new()),
            broker_wakes: Signal::default(),
            broker_wakes_others: Notify::new(),
            blocked: Mutex::new(BlockedEvals::new()),
            plans: Mutex::new(PlanQueue::new()),
            plans_wake: Signal::default(),
            on_its_way: Arc::default(),
            heartbeats: Mutex::new(Heartbeats::new(heartbeat)),
            periodic: Mutex::new(PeriodicTracker::new()),
            locks: Mutex::default(),
            acked: Notify::new(),
            periodic_changed: Notify::new(),
            stopping: AtomicBool::new(false),
        }
    }

    /// The broker, for a short look or change. Call [`Queues::wake_workers`] after what makes evaluations ready.
    pub fn broker(&self) -> MutexGuard<'_, Broker> {
        lock(&self.broker)
    }

    /// The tracker of blocked evaluations. Whoever releases some enqueues them before the lock is given up, so that a
    /// write that ends one finds it here or in the broker. Taken before the broker's lock, never after it.
    pub fn blocked(&self) -> MutexGuard<'_, BlockedEvals> {
        lock(&self.blocked)
    }

    /// The heartbeat timers.
    pub fn heartbeats(&self) -> MutexGuard<'_, Heartbeats> {
        lock(&self.heartbeats)
    }

    /// The plan queue.
    pub fn plans(&self) -> MutexGuard<'_, PlanQueue<PendingPlan>> {
        lock(&self.plans)
    }

    /// Woken by every ack.
    pub fn acked(&self) -> &Notify {
        &self.acked
    }

    /// The periodic jobs and their next launches.
    pub fn periodic(&self) -> MutexGuard<'_, PeriodicTracker> {
        lock(&self.periodic)
    }

    /// The timers of locks of variables.
    pub fn locks(&self) -> MutexGuard<'_, LockTimers> {
        lock(&self.locks)
    }

    /// Woken when periodic jobs come, change or go.
    pub(crate) fn periodic_changed(&self) -> &Notify {
        &self.periodic_changed
    }

    /// Everybody who waits here returns.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.wake_all();
        self.plans_wake.notify_all();
    }

    /// Whether the server is shutting down.
    pub fn stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    // ---- evaluations

    /// Wakes workers if something became ready.
    pub(crate) fn wake_workers(&self, broker: &mut Broker) {
        if !broker.take_signals().is_empty() {
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        self.broker_wakes.notify_all();
        self.broker_wakes_others.notify_waiters();
    }

    /// Enqueues evaluations.
    pub(crate) fn enqueue(&self, evals: impl IntoIterator<Item = (Arc<Evaluation>, Option<String>)>) {
        let mut broker = self.broker();
        broker.enqueue_all(evals, ids::now());
        self.wake_workers(&mut broker);
    }

    /// Takes the best evaluation of the schedulers; waits up to `timeout` for one. A disabled broker has none, and a
    /// caller that does not work any more when one comes leaves it to others.
    pub fn dequeue(&self, schedulers: &[String], timeout: Duration, works: impl Fn() -> bool) -> Option<Delivery> {
        let deadline = Instant::now() + timeout;
        let mut broker = self.broker();
        loop {
            if self.stopping() || !works() {
                return None;
            }
            let got = broker.dequeue(schedulers, ids::now(), ids::random(), ids::uuid);
            if let Ok(Some(d)) = got {
                return Some(d);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            broker = self.broker_wakes.wait(&self.broker, broker, left);
        }
    }

    /// [`Queues::dequeue`] without holding a thread.
    pub(crate) async fn dequeue_async(&self, schedulers: &[String], timeout: Duration) -> Option<Delivery> {
        let look = async {
            loop {
                // Registered before the look, so that nothing is missed in between.
                let woken = self.broker_wakes_others.notified();
                tokio::pin!(woken);
                woken.as_mut().enable();
                if self.stopping() {
                    return None;
                }
                let got = self.broker().dequeue(schedulers, ids::now(), ids::random(), ids::uuid);
                if let Ok(Some(d)) = got {
                    return Some(d);
                }
                woken.await;
            }
        };
        tokio::time::timeout(timeout, look).await.ok().flatten()
    }

    /// The worker is done with an evaluation.
    pub fn ack(&self, id: &str, token: &str) -> Result<Finished, BrokerError> {
        let mut broker = self.broker();
        let done = broker.ack(id, token, ids::now())?;
        self.wake_workers(&mut broker);
        drop(broker);
        self.acked.notify_one();
        Ok(done)
    }

    /// The worker gives an evaluation back.
    pub fn nack(&self, id: &str, token: &str) -> Result<Finished, BrokerError> {
        let mut broker = self.broker();
        let done = broker.nack(id, token, ids::now())?;
        self.wake_workers(&mut broker);
        Ok(done)
    }

    /// Hands a blocked evaluation to the tracker, unless it has ended in the store meanwhile. `has_ended` is asked under
    /// the lock that writes take to untrack what they end.
    pub fn block(&self, eval: Arc<Evaluation>, token: Option<String>, has_ended: impl FnOnce(&str) -> bool) {
        let mut blocked = self.blocked();
        if has_ended(&eval.id) {
            return;
        }
        let released = blocked.block(eval, token, ids::now());
        self.enqueue(released);
    }

    /// Enqueues the blocked evaluations whose plans were rejected too often.
    pub(crate) fn unblock_failed(&self) {
        let mut blocked = self.blocked();
        let released = blocked.unblock_failed(ids::now());
        self.enqueue(released);
    }

    /// Does what is due; gives the deliveries that timed out.
    pub fn tick(&self) -> Vec<Finished> {
        let now = ids::now();
        let mut broker = self.broker();
        let lost = broker.tick(now);
        self.wake_workers(&mut broker);
        drop(broker);
        let mut blocked = self.blocked();
        let released = blocked.tick(now);
        if !released.is_empty() {
            self.enqueue(released);
        }
        drop(blocked);
        lost
    }

    /// Switches broker and blocked tracker.
    pub(crate) fn set_evaluating(&self, enabled: bool) {
        let mut broker = self.broker();
        if broker.enabled() != enabled {
            broker.set_enabled(enabled);
        }
        drop(broker);
        let mut blocked = self.blocked();
        if blocked.enabled() != enabled {
            blocked.set_enabled(enabled, ids::now());
        }
        drop(blocked);
        self.wake_all();
    }

    // ---- plans

    /// What a plan holds until it is answered.
    pub(crate) fn on_its_way(&self) -> Arc<()> {
        self.on_its_way.clone()
    }

    /// Whether no plan is on its way: none waits, is checked, or is being committed.
    pub(crate) fn planned_out(&self) -> bool {
        Arc::strong_count(&self.on_its_way) == 1
    }

    /// Queues a plan.
    pub fn submit(&self, pending: PendingPlan) -> Result<(), String> {
        let priority = pending.plan.priority;
        self.plans().enqueue(priority, pending).map_err(|e| e.to_string())?;
        self.plans_wake.notify_one();
        Ok(())
    }

    /// The next plan; waits up to `timeout`.
    pub(crate) fn next_plan(&self, timeout: Duration) -> Option<PendingPlan> {
        let mut plans = self.plans();
        for _ in 0..2 {
            if self.stopping() {
                return None;
            }
            if let Ok(Some(p)) = plans.dequeue() {
                return Some(p);
            }
            plans = self.plans_wake.wait(&self.plans, plans, timeout);
        }
        None
    }

    /// Switches the plan queue; plans that wait when it is switched off are answered.
    pub(crate) fn set_planning(&self, enabled: bool) {
        let flushed = self.plans().set_enabled(enabled);
        for p in flushed {
            let _ = p.answer.try_send(Err(FLUSHED.into()));
        }
    }
}

/// What writes entail.
impl Listener for Queues {
    fn applied(&self, index: u64, op: &Operation, applied: &Applied) {
        let now = ids::now();
        let mut blocked = self.blocked();
        let released = evaluating::entail(op, applied, index, now, &mut blocked);
        let ends = evaluating::ended(applied).next().is_some();
        if ends || !released.is_empty() || !applied.dropped_evals.is_empty() {
            let mut broker = self.broker();
            evaluating::take_over(applied, released, now, &mut broker);
            self.wake_workers(&mut broker);
        }
        drop(blocked);
        for change in &applied.changes {
            match change {
                Change::Node(id, None) => drop(self.heartbeats().remove(id)),
                Change::Job(job) => {
                    let updated = self.periodic().update(job, now).unwrap_or_else(|text| {
                        let job = job.id.as_str();
                        tracing::error!(target: "nomad.periodic", job, error = text.as_str(), "failed to track periodic job");
                        true
                    });
                    if updated {
                        self.periodic_changed.notify_one();
                    }
                }
                Change::JobGone(job) => self.periodic().remove(&job.namespace, &job.id),
                Change::Variable(v) => {
                    let acquired =
                        matches!(op, Operation::Variable(w) if matches!(w.change, VariableChange::Acquire(..)));
                    self.locks().written(v, acquired, now);
                }
                Change::VariableGone(v) => self.locks().remove(&(v.namespace.clone(), v.path.clone())),
                _ => {}
            }
        }
    }
}
