//! The allocation runner: pre-run hooks, the tasks and their dependencies, post-run hooks (`docs/spec/client.md §9`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{Mutex, RwLock};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::Shared;
use super::disk::Disk;
use super::error::{InvalidAlloc, PrerunError};
use super::identity::Identities;
use super::network::Made;
use super::task::TaskRunner;
use crate::alloc_dir::AllocDir;
use crate::clock;
use crate::drivers::VolumeMounts;
use crate::events;
use crate::policy::health::{HealthRules, HealthTracker, Verdict};
use crate::policy::lifecycle::{Coordinator, Stage};
use crate::policy::status::{self, KillCause, Role};
use crate::services::run_checks::Checks;
use crate::store::{AllocRecord, RemovalRecord, TaskRecord};
use encamp_model::{
    AllocDeploymentStatus, AllocNetworkStatus, Allocation, ClientStatus, SortedMap, Task, TaskState, TaskStatus, Time,
    duration,
};

/// Text of an allocation that ran longer than it may.
const EXCEEDED: &str = "allocation exceeded max_run_duration";

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

/// Runs one allocation.
pub struct AllocRunner {
    pub(super) shared: Arc<Shared>,
    /// ID of the allocation.
    pub id: String,
    /// Its files.
    pub dirs: AllocDir,
    /// Its tasks, in the order of the job.
    pub tasks: Vec<Arc<TaskRunner>>,
    /// The servers' newest copy.
    alloc: RwLock<Arc<Allocation>>,
    pub(super) inner: Mutex<Inner>,
    /// Its checks.
    pub checks: Checks,
    /// IDs of the services that are registered, with their task; none of the group.
    pub(super) registered: Mutex<BTreeMap<String, Option<String>>>,
    /// Its CSI volumes, as far as they are mounted.
    pub(super) volumes: Mutex<VolumeMounts>,
    /// Its addresses.
    pub(super) network: Mutex<AllocNetworkStatus>,
    /// Tokens of its tasks.
    pub(super) identities: Identities,
    wake: Notify,
    pub(super) persisting: tokio::sync::Mutex<()>,
    pub(super) killing: tokio::sync::Mutex<bool>,
    /// Tasks are being killed, or were.
    pub(super) stopping: watch::Sender<bool>,
    /// The waits of its shutdown are over.
    pub(super) hurry: watch::Sender<bool>,
    /// The loop is over.
    done: watch::Sender<bool>,
    pub(super) destroyed: AtomicBool,
    /// When it was marked for collection, in Unix nanoseconds; 0: it was not.
    pub(super) marked: AtomicI64,
    /// It has the disk of its predecessor, or does not get it any more.
    pub(super) disk_taken: AtomicBool,
    /// Its own disk was read by another node, or taken over by its replacement on this one.
    pub(super) disk_given: AtomicBool,
    /// Its removal, if that began.
    pub(super) removal: Mutex<Option<RemovalRecord>>,
    /// It waits for other allocations to end.
    waiting: AtomicBool,
    shutdown: watch::Sender<bool>,
    restored: bool,
}

/// The changes.
pub(super) struct Inner {
    pub coordinator: Coordinator,
    pub deployment_status: Option<AllocDeploymentStatus>,
    pub exceeded: bool,
    pub cause: Option<KillCause>,
    health: Option<HealthTracker>,
    health_at: Option<i64>,
}

impl AllocRunner {
    /// A runner of an allocation; `record`: what became of it in an earlier run. Fails if the allocation lacks its job
    /// or its group.
    pub fn new(
        shared: Arc<Shared>,
        alloc: Arc<Allocation>,
        record: Option<AllocRecord>,
    ) -> Result<Arc<AllocRunner>, InvalidAlloc> {
        let group = alloc.group().ok_or_else(|| InvalidAlloc::NoGroup(alloc.task_group.clone()))?;
        if alloc.id.is_empty() || alloc.id.contains(['/', '.']) {
            return Err(InvalidAlloc::Id);
        }
        let bad = group
            .tasks
            .iter()
            .find(|t| t.name.is_empty() || t.name.contains('/') || matches!(&*t.name, "." | ".." | "alloc"));
        if let Some(task) = bad {
            return Err(InvalidAlloc::TaskName(task.name.clone()));
        }
        let (shutdown, going) = watch::channel(false);
        let restored = record.is_some();
        let mut record = record.unwrap_or_default();
        let disk_taken = restored && record.has_disk();
        Ok(Arc::new_cyclic(|owner: &Weak<AllocRunner>| {
            let make = |task: &Task| {
                let old = record.tasks.remove(&task.name);
                Arc::new(TaskRunner::new(shared.clone(), owner.clone(), &alloc, task, old, going.clone()))
            };
            let tasks: Vec<_> = group.tasks.iter().map(make).collect();
            AllocRunner {
                id: alloc.id.clone(),
                dirs: AllocDir::new(&shared.alloc_dir, &alloc.id),
                inner: Mutex::new(Inner {
                    coordinator: Coordinator::new(&group.tasks, restored),
                    deployment_status: record.deployment_status.clone().or_else(|| alloc.deployment_status.clone()),
                    exceeded: record.exceeded,
                    cause: None,
                    health: None,
                    health_at: None,
                }),
                shared: shared.clone(),
                tasks,
                alloc: RwLock::new(alloc.clone()),
                identities: Identities::new(&shared, std::mem::take(&mut record.identities)),
                wake: Notify::new(),
                checks: Checks::default(),
                registered: Mutex::default(),
                volumes: Mutex::default(),
                network: Mutex::new(std::mem::take(&mut record.network)),
                persisting: tokio::sync::Mutex::new(()),
                killing: tokio::sync::Mutex::new(false),
                stopping: watch::channel(false).0,
                hurry: watch::channel(false).0,
                done: watch::channel(false).0,
                destroyed: AtomicBool::new(false),
                marked: AtomicI64::new(record.marked.max(0)),
                disk_taken: AtomicBool::new(disk_taken),
                disk_given: AtomicBool::new(false),
                removal: Mutex::new(record.removal.take()),
                waiting: AtomicBool::new(false),
                shutdown,
                restored,
            }
        }))
    }

    /// The servers' newest copy.
    pub fn alloc(&self) -> Arc<Allocation> {
        self.alloc.read().clone()
    }

    /// The task of a name.
    pub fn task(&self, name: &str) -> Option<&Arc<TaskRunner>> {
        self.tasks.iter().find(|t| t.name == name)
    }

    /// The task of a name; of no name, the only task.
    pub(crate) fn task_or_only(&self, name: &str) -> Option<&Arc<TaskRunner>> {
        match (name, self.tasks.as_slice()) {
            ("", [only]) => Some(only),
            (name, _) => self.task(name),
        }
    }

    /// Something changed.
    pub(super) fn wake(&self) {
        self.wake.notify_one();
    }

    /// States of the tasks.
    pub fn states(&self) -> SortedMap<TaskState> {
        self.tasks.iter().map(|t| (t.name.clone(), t.state())).collect()
    }

    pub(super) fn roles(&self) -> Vec<Role> {
        self.tasks.iter().map(|t| Role { name: t.name.clone(), stage: t.stage, leader: t.task().leader }).collect()
    }

    /// Whether the allocation has ended here.
    pub fn is_terminal(&self) -> bool {
        self.is_destroyed() || self.view().client_terminal()
    }

    /// Whether its files are gone.
    pub(crate) fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Acquire)
    }

    /// Whether it waits for other allocations to end.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Whether its tasks are being killed, or were.
    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Whether its loop is over.
    pub(crate) fn is_done(&self) -> bool {
        *self.done.borrow()
    }

    /// Tells when the agent goes and the tasks stay.
    pub(super) fn shutdown_signal(&self) -> watch::Receiver<bool> {
        self.shutdown.subscribe()
    }

    /// Ends when the loop is over.
    pub async fn wait(&self) {
        let _ = self.done.subscribe().wait_for(|d| *d).await;
    }

    /// The allocation as this node reports it (`docs/spec/client.md §9.6`): only the fields that clients own are set.
    pub fn view(&self) -> Allocation {
        let alloc = self.alloc();
        let mut states = self.states();
        let inner = self.inner.lock();
        let (mut status, mut description) = status::client_status_of(&states);
        if inner.exceeded {
            (status, description) = (ClientStatus::Complete, EXCEEDED);
        }
        let mut deployment_status = inner.deployment_status.clone();
        if matches!(status, ClientStatus::Complete | ClientStatus::Failed) {
            let now = Time::from_unix_nanos(clock::now());
            states.values_mut().filter(|t| t.finished_at.is_zero()).for_each(|t| t.finished_at = now);
            let undecided = deployment_status.as_ref().is_none_or(|d| d.healthy.is_none());
            if status == ClientStatus::Failed && !alloc.deployment_id.is_empty() && undecided {
                let old = deployment_status.unwrap_or_default();
                deployment_status = Some(AllocDeploymentStatus { healthy: Some(false), timestamp: now, ..old });
            }
        }
        Allocation {
            id: self.id.clone(),
            node_id: alloc.node_id.clone(),
            client_status: status,
            client_description: description.into(),
            task_states: states,
            deployment_status,
            network_status: Some(Box::new(self.network_status())),
            ..Allocation::default()
        }
    }

    /// Stores what became of the allocation.
    pub async fn persist(self: &Arc<Self>) {
        // One after the other, so that an older view never replaces a newer one.
        let _order = self.persisting.lock().await;
        if self.is_destroyed() {
            return;
        }
        if self.view().client_terminal() {
            // The end and its moment are stored together: no crash changes the order of collection.
            self.mark();
        }
        let record = self.record();
        let (shared, id) = (self.shared.clone(), self.id.clone());
        let stored = tokio::task::spawn_blocking(move || shared.store.put_record(&id, &record)).await;
        if let Ok(Err(error)) = stored {
            tracing::error!(target: "client.alloc_runner", alloc_id = self.id, %error, "failed to store the state");
        }
    }

    /// What became of the allocation.
    pub(super) fn record(&self) -> AllocRecord {
        let inner = self.inner.lock();
        let tasks = self.tasks.iter().map(|t| (t.name.clone(), t.record())).collect::<Vec<(String, TaskRecord)>>();
        AllocRecord {
            tasks: tasks.into_iter().collect(),
            deployment_status: inner.deployment_status.clone(),
            exceeded: inner.exceeded,
            identities: self.identities.record(),
            marked: self.marked.load(Ordering::Relaxed),
            disk_taken: self.disk_taken.load(Ordering::Relaxed),
            removal: self.removal.lock().clone(),
            network: self.network_status(),
        }
    }

    /// The whole life of the allocation.
    pub async fn run(self: Arc<Self>, previous: Previous) {
        let ended = self.alloc().terminal() || (self.restored && self.is_terminal());
        if !ended {
            tokio::spawn(self.clone().keep_identities());
            if let Err(error) = self.prerun(previous).await {
                let text = format!("failed to setup alloc: {error}");
                for task in &self.tasks {
                    task.change(events::setup_failure(&text), Some(TaskStatus::Dead));
                    task.kill.send_replace(true);
                }
            }
        } else {
            // Only cleans up.
            self.tasks.iter().for_each(|t| {
                t.kill.send_replace(true);
            });
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
                        break;
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
            others.for_each(|t| {
                t.release.send_replace(true);
            });
        }
        {
            let mut inner = self.inner.lock();
            inner.coordinator.update(&states);
            for task in &self.tasks {
                let open = inner.coordinator.open(task.stage);
                task.gate.send_if_modified(|was| std::mem::replace(was, open) != open);
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
        let old = inner.deployment_status.take().unwrap_or_default();
        let timestamp = Time::from_unix_nanos(clock::now());
        inner.deployment_status = Some(AllocDeploymentStatus { healthy: Some(healthy), timestamp, ..old });
        drop(inner);
        for (name, reason) in reasons {
            if let Some(task) = self.task(&name) {
                task.emit(events::message("Alloc Unhealthy", reason));
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
        self.shutdown.send_replace(true);
        self.wait().await;
    }
}
