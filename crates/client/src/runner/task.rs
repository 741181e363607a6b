//! The task runner: what it is made of, its state and its orders (`docs/spec/client.md §10`).

use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use super::Shared;
use super::alloc::AllocRunner;
use super::orders::{self, Orders};
use super::templates::{Secrets, Templates};
use crate::clock;
use crate::drivers::{Isolation, RunningTask};
use crate::events;
use crate::policy::lifecycle::Stage;
use crate::policy::restart::RestartTracker;
use crate::processes::Table;
use crate::store::TaskRecord;
use encamp_model::stats::TaskResourceUsage;
use encamp_model::{Allocation, JobType, Task, TaskEvent, TaskState, TaskStatus};

/// Runs one task of an allocation.
pub struct TaskRunner {
    pub(super) shared: Arc<Shared>,
    /// Name of the task.
    pub name: String,
    /// Where it belongs.
    pub stage: Stage,
    pub(super) owner: Weak<AllocRunner>,
    pub(super) task: RwLock<Arc<Task>>,
    pub(super) inner: Mutex<Inner>,
    pub(super) orders: watch::Sender<Orders>,
    /// Grows with each change of the state.
    pub(super) changed: watch::Sender<u64>,
    /// The task API, while it is served; dropped, it is not.
    pub(super) api: Mutex<Option<Box<dyn Send + Sync>>>,
    /// Its templates.
    pub(super) templates: Templates,
    /// Its `secret` blocks.
    pub(super) secrets: Secrets,
}

/// The changes.
pub(super) struct Inner {
    pub record: TaskRecord,
    pub tracker: RestartTracker,
    pub handle: Option<Arc<dyn RunningTask>>,
    pub usage: Option<TaskResourceUsage>,
    pub kill_error: String,
    pub restored: bool,
}

impl TaskRunner {
    /// A runner of a task; `record`: what became of it in an earlier run.
    pub fn new(
        shared: Arc<Shared>,
        owner: Weak<AllocRunner>,
        alloc: &Allocation,
        task: &Task,
        record: Option<TaskRecord>,
    ) -> TaskRunner {
        let now = clock::now();
        let job_type = alloc.job.as_ref().map_or(&JobType::Unset, |j| &j.r#type);
        let policy = policy_of(alloc, task);
        let restored = record.is_some();
        let record = record.unwrap_or_else(|| {
            let mut state = TaskState { state: TaskStatus::Pending, ..TaskState::default() };
            events::append(&mut state, events::received(), now);
            TaskRecord { state, ..TaskRecord::default() }
        });
        TaskRunner {
            shared,
            name: task.name.clone(),
            stage: Stage::of(task),
            owner,
            inner: Mutex::new(Inner {
                record,
                tracker: RestartTracker::new(policy, job_type, task.lifecycle.as_ref(), now),
                handle: None,
                usage: None,
                kill_error: String::new(),
                restored,
            }),
            task: RwLock::new(Arc::new(task.clone())),
            orders: watch::Sender::default(),
            changed: watch::channel(0).0,
            api: Mutex::default(),
            templates: Templates::default(),
            secrets: Secrets::default(),
        }
    }

    /// The definition of the task, as it is now.
    pub fn task(&self) -> Arc<Task> {
        self.task.read().clone()
    }

    /// Which files the task sees.
    pub(super) fn isolation(&self) -> Isolation {
        let driver = self.shared.drivers.get(&self.task().driver);
        driver.map_or(Isolation::None, |driver| driver.capabilities().isolation)
    }

    /// Whether the task sees a file system of its own.
    pub(crate) fn driver_isolates(&self) -> bool {
        self.isolation().isolates()
    }

    /// Its state.
    pub fn state(&self) -> TaskState {
        self.inner.lock().record.state.clone()
    }

    /// Everything to be remembered.
    pub fn record(&self) -> TaskRecord {
        self.inner.lock().record.clone()
    }

    /// The running task, if it runs.
    pub fn handle(&self) -> Option<Arc<dyn RunningTask>> {
        let inner = self.inner.lock();
        inner.handle.clone().filter(|_| inner.record.state.state == TaskStatus::Running)
    }

    /// Whether its loop is over.
    pub(crate) fn is_complete(&self) -> bool {
        self.inner.lock().record.complete
    }

    /// The last sample of what it uses.
    pub fn usage(&self) -> Option<TaskResourceUsage> {
        self.inner.lock().usage.clone()
    }

    /// Takes a sample of what it uses.
    pub fn sample(&self, processes: &Table, mhz_per_core: f64) {
        if let Some(usage) = self.handle().and_then(|h| h.usage(processes, mhz_per_core)) {
            self.inner.lock().usage = Some(usage);
        }
    }

    /// Takes over the definition of an updated job.
    pub fn update(&self, alloc: &Allocation, task: &Task) {
        *self.task.write() = Arc::new(task.clone());
        self.inner.lock().tracker.set_policy(policy_of(alloc, task));
    }

    /// Appends an event.
    pub(crate) fn emit(&self, event: TaskEvent) {
        self.change(event, None);
    }

    /// Appends an event and moves into a state.
    pub(super) fn change(&self, event: impl Into<Option<TaskEvent>>, to: Option<TaskStatus>) {
        {
            let mut inner = self.inner.lock();
            let now = clock::now();
            if let Some(event) = event.into() {
                events::append(&mut inner.record.state, event, now);
            }
            if let Some(to) = to {
                events::enter(&mut inner.record.state, to, now);
            }
        }
        self.changed.send_modify(|n| *n += 1);
        if let Some(owner) = self.owner.upgrade() {
            owner.wake();
        }
    }

    /// Changes what it is ordered to do.
    pub(super) fn order(&self, change: impl FnOnce(&mut Orders)) {
        self.orders.send_modify(change);
    }

    /// Ends when it is ordered to do something.
    pub(super) async fn ordered(&self, what: impl FnMut(&Orders) -> bool) {
        orders::wait(&self.orders, what).await;
    }

    /// Whether it is to end.
    pub(super) fn is_killed(&self) -> bool {
        self.orders.borrow().end
    }

    /// Ends when it is to end.
    pub(super) async fn killed(&self) {
        self.ordered(|o| o.end).await;
    }

    /// Ends when the agent goes and the task stays.
    pub(super) async fn going(&self) {
        self.ordered(|o| o.leave).await;
    }

    pub(super) async fn persist(&self) {
        if let Some(owner) = self.owner.upgrade() {
            owner.persist().await;
        }
    }
}

/// The restart policy of a task: its own, else its group's.
fn policy_of(alloc: &Allocation, task: &Task) -> encamp_model::RestartPolicy {
    let own = task.restart_policy.clone();
    own.or_else(|| alloc.group().and_then(|g| g.restart_policy.clone())).unwrap_or_default()
}
