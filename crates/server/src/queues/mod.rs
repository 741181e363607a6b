//! The leader's in-memory state: evaluation broker, blocked evaluations, plan queue, heartbeats, periodic jobs,
//! variable locks. These state machines do no I/O; this module adds locks, clocks and wake-ups, and notifies them of
//! every write.
//!
//! - [`plan_queue`]: the order of submitted plans. [`pending_plan`]: such a plan and its answer. [`pipeline_error`]: why
//!   it was not applied.
//! - [`heartbeats`]: the timers of nodes. [`gc_runs`]: how runs of garbage collection ended.

pub mod gc_runs;
pub mod heartbeats;
pub mod pending_plan;
pub mod pipeline_error;
pub(crate) mod plan_queue;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::evals::blocked::BlockedEvals;
use crate::evals::broker::{Broker, BrokerError, Delivery, Finished};
use crate::evals::eval_lifecycle;
use crate::fsm::{Applied, Change};
use crate::jobs::periodic::PeriodicTracker;
use crate::settings::HeartbeatSettings;
use crate::storage::store::Listener;
use crate::var_locks::LockTimers;
use encamp_host::ids;
use encamp_host::threads::{Instant, Signal};
use encamp_model::*;
use encamp_ops::{Operation, VariableChange};
use gc_runs::Runs;
use heartbeats::Heartbeats;
use pipeline_error::PipelineError;
use plan_queue::{PlanQueue, PlanQueueDisabled};

pub use pending_plan::{PendingPlan, PlanAnswer};

/// The leader's queues. On other servers all of them are empty and disabled.
pub struct Queues {
    broker: Mutex<Broker>,
    broker_wakes: Signal,
    /// The same for dequeues by workers of other servers.
    broker_wakes_others: Notify,
    blocked: Mutex<BlockedEvals>,
    plans: Mutex<PlanQueue<PendingPlan>>,
    plans_wake: Signal,
    /// Every plan holds a reference until it is answered.
    in_flight: Arc<()>,
    heartbeats: Mutex<Heartbeats>,
    periodic: Mutex<PeriodicTracker>,
    locks: Mutex<LockTimers>,
    gc_runs: Runs,
    /// Acks wake the reaper of cancelable evaluations.
    acked: Notify,
    /// Woken when the next launch of a periodic job changes.
    periodic_changed: Notify,
    stopping: AtomicBool,
}

impl Queues {
    /// Returns disabled queues.
    pub fn new(heartbeat: HeartbeatSettings) -> Queues {
        Queues {
            broker: Mutex::new(Broker::new()),
            broker_wakes: Signal::default(),
            broker_wakes_others: Notify::new(),
            blocked: Mutex::new(BlockedEvals::new()),
            plans: Mutex::new(PlanQueue::new()),
            plans_wake: Signal::default(),
            in_flight: Arc::default(),
            heartbeats: Mutex::new(Heartbeats::new(heartbeat)),
            periodic: Mutex::new(PeriodicTracker::new()),
            locks: Mutex::default(),
            gc_runs: Runs::default(),
            acked: Notify::new(),
            periodic_changed: Notify::new(),
            stopping: AtomicBool::new(false),
        }
    }

    /// Locks the broker for a short read or change. Call [`Queues::wake_workers`] after a change that makes evaluations
    /// ready.
    pub fn broker(&self) -> MutexGuard<'_, Broker> {
        let mut broker = self.broker.lock();
        broker.set_wall_ahead(ids::now().saturating_sub(ids::steady()));
        broker
    }

    /// Locks the tracker of blocked evaluations. A caller that unblocks evaluations has to enqueue them before it
    /// releases the lock, so that a write that ends one finds it here or in the broker. Lock order: before the broker,
    /// never after it.
    pub fn blocked(&self) -> MutexGuard<'_, BlockedEvals> {
        self.blocked.lock()
    }

    /// Locks the heartbeat timers.
    pub fn heartbeats(&self) -> MutexGuard<'_, Heartbeats> {
        self.heartbeats.lock()
    }

    /// Locks the plan queue.
    pub fn plans(&self) -> MutexGuard<'_, PlanQueue<PendingPlan>> {
        self.plans.lock()
    }

    /// Woken by every ack.
    pub fn acked(&self) -> &Notify {
        &self.acked
    }

    /// Locks the tracker of periodic jobs and their next launches.
    pub fn periodic(&self) -> MutexGuard<'_, PeriodicTracker> {
        self.periodic.lock()
    }

    /// Locks the timers of variable locks.
    pub fn locks(&self) -> MutexGuard<'_, LockTimers> {
        self.locks.lock()
    }

    /// The latest runs of garbage collection.
    pub(crate) fn gc_runs(&self) -> &Runs {
        &self.gc_runs
    }

    /// Woken when periodic jobs are added, changed or removed.
    pub(crate) fn periodic_changed(&self) -> &Notify {
        &self.periodic_changed
    }

    /// Wakes all waiting threads and tasks, which then return.
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

    /// Wakes workers if an evaluation became ready.
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
        broker.enqueue_all(evals, ids::steady());
        self.wake_workers(&mut broker);
    }

    /// Dequeues the evaluation with the highest priority for these schedulers; waits up to `timeout` for one. A
    /// disabled broker returns none, and a caller whose `works` returns false when an evaluation becomes ready leaves
    /// it to others.
    pub fn dequeue(&self, schedulers: &[JobType], timeout: Duration, works: impl Fn() -> bool) -> Option<Delivery> {
        let deadline = Instant::now() + timeout;
        let mut broker = self.broker();
        loop {
            if self.stopping() || !works() {
                return None;
            }
            let got = broker.dequeue(schedulers, ids::steady(), ids::random(), ids::uuid);
            if let Ok(Some(d)) = got {
                return Some(d);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            self.broker_wakes.wait(&mut broker, left);
        }
    }

    /// [`Queues::dequeue`] without blocking a thread.
    pub(crate) async fn dequeue_async(&self, schedulers: &[JobType], timeout: Duration) -> Option<Delivery> {
        let look = async {
            loop {
                // Registered before the broker is checked, so that no wake-up is missed in between.
                let woken = self.broker_wakes_others.notified();
                tokio::pin!(woken);
                woken.as_mut().enable();
                if self.stopping() {
                    return None;
                }
                let got = self.broker().dequeue(schedulers, ids::steady(), ids::random(), ids::uuid);
                if let Ok(Some(d)) = got {
                    return Some(d);
                }
                woken.await;
            }
        };
        tokio::time::timeout(timeout, look).await.ok().flatten()
    }

    /// Acknowledges that a worker has finished an evaluation.
    pub fn ack(&self, id: &str, token: &str) -> Result<Finished, BrokerError> {
        let mut broker = self.broker();
        let done = broker.ack(id, token, ids::steady())?;
        self.wake_workers(&mut broker);
        drop(broker);
        self.acked.notify_one();
        Ok(done)
    }

    /// Returns an evaluation to the queue.
    pub fn nack(&self, id: &str, token: &str) -> Result<Finished, BrokerError> {
        let mut broker = self.broker();
        let done = broker.nack(id, token, ids::steady())?;
        self.wake_workers(&mut broker);
        Ok(done)
    }

    /// Adds a blocked evaluation to the tracker, unless it has ended in the store meanwhile. `has_ended` is called
    /// under the lock that writes take to untrack ended evaluations.
    pub fn block(&self, eval: Arc<Evaluation>, token: Option<String>, has_ended: impl FnOnce(&str) -> bool) {
        let mut blocked = self.blocked();
        if has_ended(&eval.id) {
            return;
        }
        let released = blocked.block(eval, token, ids::steady());
        self.enqueue(released);
    }

    /// Enqueues the blocked evaluations whose plans were rejected too often.
    pub(crate) fn unblock_failed(&self) {
        let mut blocked = self.blocked();
        let released = blocked.unblock_failed(ids::steady());
        self.enqueue(released);
    }

    /// Processes due timers. Returns the deliveries that timed out.
    pub fn tick(&self) -> Vec<Finished> {
        let now = ids::steady();
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

    /// Enables or disables the broker and the tracker of blocked evaluations.
    pub(crate) fn set_evaluating(&self, enabled: bool) {
        let mut broker = self.broker();
        if broker.enabled() != enabled {
            broker.set_enabled(enabled);
        }
        drop(broker);
        let mut blocked = self.blocked();
        if blocked.enabled() != enabled {
            blocked.set_enabled(enabled, ids::steady());
        }
        drop(blocked);
        self.wake_all();
    }

    // ---- plans

    /// A reference that a plan holds until it is answered.
    pub(crate) fn in_flight(&self) -> Arc<()> {
        self.in_flight.clone()
    }

    /// Whether no plan is queued, being checked, or being committed.
    pub(crate) fn no_plans_in_flight(&self) -> bool {
        Arc::strong_count(&self.in_flight) == 1
    }

    /// Enqueues a plan.
    ///
    /// # Errors
    /// This server is not the leader.
    pub(crate) fn submit(&self, pending: PendingPlan) -> Result<(), PlanQueueDisabled> {
        let priority = pending.plan.priority;
        self.plans().enqueue(priority, pending)?;
        self.plans_wake.notify_one();
        Ok(())
    }

    /// Takes the next plan; waits up to `timeout` for one.
    pub(crate) fn next_plan(&self, timeout: Duration) -> Option<PendingPlan> {
        let mut plans = self.plans();
        for _ in 0..2 {
            if self.stopping() {
                return None;
            }
            if let Ok(Some(p)) = plans.dequeue() {
                return Some(p);
            }
            self.plans_wake.wait(&mut plans, timeout);
        }
        None
    }

    /// Enables or disables the plan queue. Plans that are queued when it is disabled are answered.
    pub(crate) fn set_planning(&self, enabled: bool) {
        let flushed = self.plans().set_enabled(enabled);
        for p in flushed {
            let _ = p.answer.try_send(Err(PipelineError::Flushed));
        }
    }
}

/// Updates the queues after a write.
impl Listener for Queues {
    fn applied(&self, index: u64, op: &Operation, applied: &Applied) {
        let (now, wall) = (ids::steady(), ids::now());
        let mut blocked = self.blocked();
        let released = eval_lifecycle::entail(op, applied, index, now, &mut blocked);
        let ends = eval_lifecycle::ended(applied).next().is_some();
        if ends || !released.is_empty() || !applied.dropped_evals.is_empty() {
            let mut broker = self.broker();
            eval_lifecycle::take_over(applied, released, now, &mut broker);
            self.wake_workers(&mut broker);
        }
        drop(blocked);
        for change in &applied.changes {
            match change {
                Change::Node(id, None) => drop(self.heartbeats().remove(id)),
                Change::Job(job) => {
                    let updated = self.periodic().update(job, wall).unwrap_or_else(|error| {
                        let job = job.id.as_str();
                        tracing::error!(target: "nomad.periodic", job, %error, "failed to track periodic job");
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
                Change::Node(_, Some(_))
                | Change::NodePool(..)
                | Change::Namespace(_)
                | Change::JobVersion(..)
                | Change::Summary(..)
                | Change::Eval(_)
                | Change::EvalGone(_)
                | Change::Alloc(_)
                | Change::AllocGone { .. }
                | Change::Deployment(_)
                | Change::DeploymentGone(_)
                | Change::Service(_)
                | Change::ServiceGone(_)
                | Change::HostVolume(_)
                | Change::CsiVolume(_)
                | Change::CsiVolumeGone(_)
                | Change::CsiPlugin(_)
                | Change::CsiPluginGone(_)
                | Change::AclPolicy(_)
                | Change::AclToken(_)
                | Change::AclRole(_)
                | Change::AclAuthMethod(_)
                | Change::AclBindingRule(_)
                | Change::HostVolumeGone(_)
                | Change::Other(_) => {}
            }
        }
    }
}
