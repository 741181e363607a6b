//! Requests to a running allocation: stop, restart, signal (`docs/spec/client.md §9.5`, `§13`).

use std::sync::Arc;

use super::alloc::AllocRunner;
use super::task::TaskRunner;
use crate::drivers::{DriverError, RunningTask};
use crate::error::ClientError;
use crate::events;
use crate::policy::status;
use encamp_model::{TaskStatus, duration};

/// Why tasks are killed that ran longer than they may.
const EXCEEDED: &str = "exceeded max_run_duration";

impl AllocRunner {
    /// Ends all tasks, in the order of `docs/spec/client.md §9.5`; poststop tasks run after that.
    pub(crate) async fn kill_tasks(self: &Arc<Self>) {
        self.stopping.send_replace(true);
        {
            let mut waited = self.killing.lock().await;
            if !std::mem::replace(&mut *waited, true) {
                self.checks.stop();
                self.deregister(|_, of| of.is_none());
                self.shutdown_delay().await;
            }
        }
        let exceeded = self.inner.lock().exceeded;
        for step in status::kill_order(&self.roles(), exceeded) {
            let tasks: Vec<_> = step.iter().filter_map(|name| self.task(name)).collect();
            for task in &tasks {
                let now = task.state();
                if now.state != TaskStatus::Dead && now.finished_at.is_zero() && !task.is_killed() {
                    let timeout = task.kill_timeout();
                    task.begin_kill(match exceeded {
                        true => events::killing_for(timeout, EXCEEDED),
                        false => events::killing(timeout),
                    });
                } else {
                    task.order(|o| o.end = true);
                }
            }
            for task in tasks {
                task.wait_dead().await;
            }
        }
    }

    /// The group's wait between the end of its services and the end of its tasks.
    async fn shutdown_delay(&self) {
        let alloc = self.alloc();
        let delay = alloc.group().and_then(|g| g.shutdown_delay).unwrap_or(0);
        // Nothing runs any more: nobody has to be given time.
        let live = self.tasks.iter().any(|t| t.state().state == TaskStatus::Running);
        if delay > 0 && live {
            let mut hurry = self.hurry.subscribe();
            tokio::select! {
                () = tokio::time::sleep(duration::of_nanos(delay)) => {}
                _ = hurry.wait_for(|h| *h) => {}
            }
        }
    }

    fn found(
        &self,
        name: &str,
        missing: impl FnOnce() -> String,
    ) -> Result<(&Arc<TaskRunner>, Arc<dyn RunningTask>), ClientError> {
        let task = self.task(name).ok_or_else(|| ClientError::Failed(missing()))?;
        let handle = task.handle().ok_or_else(|| ClientError::failed("Task not running"))?;
        Ok((task, handle))
    }

    /// Restarts one task (`task` not empty), all running ones, or all.
    pub async fn restart(self: &Arc<Self>, task: &str, all: bool) -> Result<(), ClientError> {
        if all && !task.is_empty() {
            return Err(ClientError::failed("task name cannot be set when restarting all tasks"));
        }
        // The servers' copy need not tell yet that the allocation has ended by itself.
        let unwanted = self.alloc().terminal() || *self.stopping.borrow() || self.is_terminal();
        if unwanted && (task.is_empty() || self.task(task).is_some()) {
            return Err(ClientError::failed("restart of an alloc that should not run"));
        }
        if !task.is_empty() {
            let (runner, handle) = self.found(task, || format!("Could not find task runner for task: {task}"))?;
            return runner.restart(&handle, "User requested task to restart").await.map_err(ClientError::failed);
        }
        let reason =
            if all { "User requested all tasks to restart" } else { "User requested running tasks to restart" };
        if all {
            let mut inner = self.inner.lock();
            inner.coordinator.restart();
            inner.cause = None;
            self.tasks.iter().for_each(|t| t.order(|o| o.may_start = false));
        }
        let mut errors = Vec::new();
        for runner in &self.tasks {
            match runner.handle() {
                Some(handle) => errors.extend(runner.restart(&handle, reason).await.err().map(|e| e.to_string())),
                None if all => runner.revive(reason),
                None => {}
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(ClientError::Failed(errors.join("; "))) }
    }

    /// Sends a signal to one task, or to all (`task` empty).
    pub async fn signal(&self, task: &str, signal: &str) -> Result<(), ClientError> {
        if !task.is_empty() {
            let (runner, handle) = self.found(task, || "Task not found".into())?;
            runner.emit(events::signaling(signal));
            return handle.signal(signal).await.map_err(ClientError::failed);
        }
        let mut errors = Vec::new();
        for runner in &self.tasks {
            let error = match runner.handle() {
                Some(handle) => {
                    runner.emit(events::signaling(signal));
                    handle.signal(signal).await.err().map(|e| e.to_string())
                }
                None => Some("Task not running".into()),
            };
            errors.extend(error.map(|e| format!("Failed to signal task: {}, err: {e}", runner.name)));
        }
        if errors.is_empty() { Ok(()) } else { Err(ClientError::Failed(errors.join("; "))) }
    }
}

impl TaskRunner {
    /// Stops the task so that its loop starts it again.
    pub(super) async fn restart(&self, handle: &Arc<dyn RunningTask>, reason: &str) -> Result<(), DriverError> {
        self.emit(events::restart_signaled(reason));
        self.inner.lock().tracker.ask();
        self.stop(handle).await
    }

    /// Stops the task because a check failed: its loop starts it again if its restart policy lets it.
    pub(super) async fn restart_failed(&self, handle: &Arc<dyn RunningTask>, reason: &str) -> Result<(), DriverError> {
        self.emit(events::restart_signaled(reason));
        self.inner.lock().tracker.ask_failed();
        self.stop(handle).await
    }

    /// Starts a dead task again whose loop is not over.
    fn revive(&self, reason: &str) {
        if self.is_complete() || self.state().state != TaskStatus::Dead {
            return;
        }
        self.emit(events::restart_signaled(reason));
        self.change(events::restarting("", 0), Some(TaskStatus::Pending));
        self.order(|o| o.revivals += 1);
    }

    /// Ends when the task is dead.
    async fn wait_dead(&self) {
        let mut changes = self.changed.subscribe();
        while self.state().state != TaskStatus::Dead {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}
