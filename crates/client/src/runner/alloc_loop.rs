//! The life of an allocation: pre-run hooks, the tasks and their dependencies, post-run hooks
//! (`docs/spec/client.md §9`).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tokio::task::JoinSet;

use super::alloc::{AllocRunner, Inner};
use super::disk::Disk;
use super::error::PrerunError;
use super::network::Made;
use crate::clock;
use crate::events;
use crate::policy::health::{HealthRules, HealthTracker, Verdict};
use crate::policy::lifecycle::Stage;
use crate::policy::status;
use encamp_model::{Allocation, ClientStatus, TaskEventType, TaskStatus, Time, duration};

/// The allocations that must end before an allocation starts.
#[derive(Default)]
pub struct Previous {
    /// Its predecessor on this node.
    pub local: Option<Arc<AllocRunner>>,
    /// Those it pushed out, on this node.
    pub preempted: Vec<Arc<AllocRunner>>,
    /// Ends when its predecessor on another node is terminal.
    pub remote: Option<futures_util::future::BoxFuture<'static, ()>>,
}

impl AllocRunner {
    /// The whole life of the allocation.
    pub async fn run(self: Arc<Self>, previous: Previous) {
        let ended = self.alloc().terminal() || (self.restored && self.is_terminal());
        if !ended {
            tokio::spawn(self.clone().keep_identities());
            if let Err(error) = self.prerun(previous).await {
                let text = format!("failed to setup alloc: {error}");
                for task in &self.tasks {
                    task.change(events::setup_failure(&text), Some(TaskStatus::Dead));
                    task.order(|o| o.end = true);
                }
            }
        } else {
            // Only cleans up.
            self.tasks.iter().for_each(|t| t.order(|o| o.end = true));
        }
        if *self.shutdown.borrow() {
            self.done.send_replace(true);
            return;
        }
        if !ended {
            self.start_health();
        }
        // Its runner owns what the loop watches: it ends with that.
        let watch = tokio::spawn(self.clone().watch_checks());
        let mut runs = JoinSet::new();
        self.tasks.iter().for_each(|t| drop(runs.spawn(t.clone().run())));
        self.react().await;
        self.react_until_ended(&mut runs).await;
        self.react().await;
        watch.abort();
        self.checks.stop();
        if !*self.shutdown.borrow() {
            self.deregister(|_, _| true);
            self.remove_network().await;
            self.unmount_volumes().await;
            self.shared.csi.dirs.remove_sockets(&self.id);
        }
        self.done.send_replace(true);
    }

    /// Reacts to changes until all tasks have ended.
    async fn react_until_ended(self: &Arc<Self>, runs: &mut JoinSet<()>) {
        let limit = self.run_limit();
        loop {
            let health_at = self.inner.lock().health_at;
            let sleep_until = |at: Option<i64>| async move {
                match at {
                    Some(at) => tokio::time::sleep(duration::of_nanos(at.saturating_sub(clock::now()))).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.wake.notified() => {}
                joined = runs.join_next() => {
                    if joined.is_none() {
                        return;
                    }
                }
                () = sleep_until(health_at) => {}
                () = sleep_until(limit.filter(|_| !self.inner.lock().exceeded)) => {
                    self.inner.lock().exceeded = true;
                    let me = self.clone();
                    tokio::spawn(async move { me.kill_tasks().await });
                }
            }
            self.react().await;
        }
    }

    /// When the allocation has run too long, in Unix nanoseconds.
    fn run_limit(&self) -> Option<i64> {
        let alloc = self.alloc();
        let most = alloc.group()?.max_run_duration.filter(|d| *d > 0)?;
        Some(alloc.create_time.saturating_add(most))
    }

    /// Runs the hooks before the tasks.
    async fn prerun(self: &Arc<Self>, previous: Previous) -> Result<(), PrerunError> {
        let timed = |name: &str, begin: Instant, ok: bool| {
            self.shared.hook("alloc_hook.prerun", name, &self.alloc(), begin, ok);
        };
        let begin = Instant::now();
        let built = self.dirs.build().map_err(PrerunError::AllocDir);
        timed("alloc_dir", begin, built.is_ok());
        built?;
        let begin = Instant::now();
        let mut stopping = self.stopping.subscribe();
        let mut going = self.shutdown.subscribe();
        let local = previous.local.clone();
        let others = async {
            for runner in previous.local.iter().chain(&previous.preempted) {
                runner.wait().await;
            }
            if let Some(remote) = previous.remote {
                remote.await;
            }
        };
        self.waiting.store(true, Ordering::Relaxed);
        let ready = tokio::select! {
            () = others => true,
            _ = async { stopping.wait_for(|s| *s).await.is_ok() } => false,
            _ = async { going.wait_for(|s| *s).await.is_ok() } => false,
        };
        self.waiting.store(false, Ordering::Relaxed);
        timed("await_previous_allocations", begin, ready);
        if !ready {
            return Ok(());
        }
        if self.take_disk(local.as_deref()).await? == Disk::GivenUp {
            return Ok(());
        }
        let begin = Instant::now();
        let connected = self.make_network().await;
        timed("network", begin, connected.is_ok());
        if connected? == Made::GivenUp {
            return Ok(());
        }
        if self.restored {
            // The servers know them; what ran before does not end for want of them.
            let me = self.clone();
            tokio::spawn(async move { me.register_services(None).await });
        } else {
            let begin = Instant::now();
            let registered = self.register_services(None).await;
            timed("group_services", begin, registered.is_ok());
            registered?;
        }
        if !self.mount_volumes().await? {
            return Ok(());
        }
        Ok(self.start_checks()?)
    }

    fn start_health(&self) {
        let alloc = self.alloc();
        let mut inner = self.inner.lock();
        let undecided = inner.deployment_status.as_ref().is_none_or(|d| d.healthy.is_none());
        inner.health = HealthRules::of(&alloc).filter(|_| undecided).map(|r| HealthTracker::new(r, clock::now()));
    }

    /// Looks at all states and does what follows (`docs/spec/client.md §9.7`).
    async fn react(self: &Arc<Self>) {
        self.step_health();
        let roles = self.roles();
        let states = self.states();
        let reaction = status::reaction(&roles, &states);
        let new_cause = {
            let mut inner = self.inner.lock();
            let new = reaction.kill.filter(|_| inner.cause.is_none() && !*self.stopping.borrow());
            inner.cause = inner.cause.take().or_else(|| new.clone());
            new
        };
        if let Some(cause) = new_cause {
            let live = self.tasks.iter().filter(|t| reaction.live.contains(&t.name));
            live.for_each(|t| t.emit(events::of_cause(&cause)));
            let me = self.clone();
            tokio::spawn(async move { me.kill_tasks().await });
        }
        if reaction.live.is_empty() {
            let others = self.tasks.iter().filter(|t| t.stage != Stage::Poststop);
            others.for_each(|t| t.order(|o| o.release = true));
        }
        {
            let mut inner = self.inner.lock();
            inner.coordinator.update(&states);
            for task in &self.tasks {
                let open = inner.coordinator.open(task.stage);
                task.orders.send_if_modified(|o| std::mem::replace(&mut o.may_start, open) != open);
            }
        }
        // The servers learn nothing that the node could forget.
        self.persist().await;
        (self.shared.report)(self.view());
    }

    fn step_health(&self) {
        let alloc = self.alloc();
        let states = self.states();
        let mut inner = self.inner.lock();
        // By the servers' word: what a task's failure means the tracker tells, with a reason.
        let failed = alloc.client_status == ClientStatus::Failed;
        let Inner { health, coordinator, .. } = &mut *inner;
        let Some(tracker) = health else { return };
        let stage = |t: &str| coordinator.stage(t);
        let checks = self.checks.passing();
        let verdict = tracker.step(clock::now(), alloc.server_terminal(), failed, checks, stage, &states);
        inner.health_at = None;
        let (healthy, reasons) = match verdict {
            Verdict::Wait(at) => {
                inner.health_at = Some(at);
                return;
            }
            Verdict::Ended => {
                inner.health = None;
                return;
            }
            Verdict::Healthy => (true, Vec::new()),
            Verdict::Unhealthy(reasons) => (false, reasons),
        };
        inner.health = None;
        let status = inner.deployment_status.get_or_insert_default();
        (status.healthy, status.timestamp) = (Some(healthy), Time::from_unix_nanos(clock::now()));
        drop(inner);
        for (name, reason) in reasons {
            if let Some(task) = self.task(&name) {
                task.emit(events::message(TaskEventType::AllocUnhealthy, reason));
            }
        }
    }

    /// The servers' copy changed (`docs/spec/client.md §9.4`).
    pub async fn update(self: &Arc<Self>, new: Arc<Allocation>) {
        let old = self.alloc();
        if new.alloc_modify_index < old.alloc_modify_index {
            return;
        }
        *self.alloc.write() = new.clone();
        if new.desired_transition.no_shutdown_delay == Some(true) {
            self.hurry.send_replace(true);
            self.tasks.iter().for_each(|t| t.hurry());
        }
        if !new.terminal() {
            if new.deployment_id != old.deployment_id {
                self.inner.lock().deployment_status = new.deployment_status.clone();
                self.start_health();
            } else if let Some(set) = new.deployment_status.as_ref().filter(|d| d.healthy.is_some()) {
                // Somebody decided.
                let mut inner = self.inner.lock();
                inner.deployment_status = Some(set.clone());
                inner.health = None;
            }
            for task in new.group().into_iter().flat_map(|g| &g.tasks) {
                if let Some(runner) = self.task(&task.name) {
                    runner.update(&new, task);
                }
            }
        }
        self.wake();
        if !new.terminal() && !self.is_done() {
            let me = self.clone();
            tokio::spawn(async move { me.update_services().await });
        }
        if !old.terminal() && new.terminal() {
            let me = self.clone();
            tokio::spawn(async move { me.kill_tasks().await });
        }
    }

    /// The agent goes: the tasks stay.
    pub async fn leave(&self) {
        // Before the tasks: without it, their ends would be those of the allocation.
        self.shutdown.send_replace(true);
        self.tasks.iter().for_each(|t| t.order(|o| o.leave = true));
        self.wait().await;
    }
}
