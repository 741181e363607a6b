//! The allocation runner: what it is made of, and how it reports and stores its state (`docs/spec/client.md §9`).

use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Weak};
use tokio::sync::{Notify, watch};

use super::Shared;
use super::error::InvalidAlloc;
use super::task::TaskRunner;
use super::tokens::Identities;
use crate::alloc_dir::AllocDir;
use crate::clock;
use crate::drivers::VolumeMounts;
use crate::policy::health::HealthTracker;
use crate::policy::lifecycle::Coordinator;
use crate::policy::status::{self, KillCause, Role};
use crate::services::run_checks::Checks;
use crate::store::{AllocRecord, RemovalRecord, TaskRecord};
use encamp_model::{
    AllocDeploymentStatus, AllocNetworkStatus, Allocation, ClientStatus, SortedMap, Task, TaskGroup, TaskState, Time,
};

/// Text of an allocation that ran longer than it may.
const EXCEEDED: &str = "allocation exceeded max_run_duration";

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
    pub(super) alloc: RwLock<Arc<Allocation>>,
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
    pub(super) wake: Notify,
    pub(super) persisting: tokio::sync::Mutex<()>,
    pub(super) killing: tokio::sync::Mutex<bool>,
    /// Tasks are being killed, or were.
    pub(super) stopping: watch::Sender<bool>,
    /// The waits of its shutdown are over.
    pub(super) hurry: watch::Sender<bool>,
    /// The loop is over.
    pub(super) done: watch::Sender<bool>,
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
    pub(super) waiting: AtomicBool,
    pub(super) shutdown: watch::Sender<bool>,
    pub(super) restored: bool,
}

/// The changes.
pub(super) struct Inner {
    pub coordinator: Coordinator,
    pub deployment_status: Option<AllocDeploymentStatus>,
    pub exceeded: bool,
    pub cause: Option<KillCause>,
    pub health: Option<HealthTracker>,
    pub health_at: Option<i64>,
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
        check_names(&alloc, group)?;
        let restored = record.is_some();
        let mut record = record.unwrap_or_default();
        let disk_taken = restored && record.has_disk();
        Ok(Arc::new_cyclic(|owner: &Weak<AllocRunner>| {
            let make = |task: &Task| {
                let old = record.tasks.remove(&task.name);
                Arc::new(TaskRunner::new(shared.clone(), owner.clone(), &alloc, task, old))
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
                shutdown: watch::channel(false).0,
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
            task_states: states.into(),
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
}

/// Refuses names that can't be those of directories.
fn check_names(alloc: &Allocation, group: &TaskGroup) -> Result<(), InvalidAlloc> {
    if alloc.id.is_empty() || alloc.id.contains(['/', '.']) {
        return Err(InvalidAlloc::Id);
    }
    let bad = group
        .tasks
        .iter()
        .find(|t| t.name.is_empty() || t.name.contains('/') || matches!(&*t.name, "." | ".." | "alloc"));
    match bad {
        Some(task) => Err(InvalidAlloc::TaskName(task.name.clone())),
        None => Ok(()),
    }
}
