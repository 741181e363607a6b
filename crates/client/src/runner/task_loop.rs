//! The life of a task: the loop of starts and restarts (`docs/spec/client.md §10.2`).

use std::sync::Arc;

use super::setup::NotStarted;
use super::task::TaskRunner;
use crate::clock;
use crate::drivers::{DriverError, Exit, RunningTask};
use crate::events;
use crate::policy::lifecycle::Stage;
use crate::policy::restart::{Decision, Ending};
use encamp_model::{JobType, TaskEventType, TaskStatus, duration};

/// Where the loop goes.
enum Next {
    Again,
    Dead,
    Shutdown,
}

impl TaskRunner {
    /// The whole life of the task.
    pub async fn run(self: Arc<Self>) {
        let (complete, dead, restored) = {
            let inner = self.inner.lock();
            let dead = inner.record.state.state == TaskStatus::Dead;
            (inner.record.complete, dead, inner.restored)
        };
        if complete {
            return;
        }
        let mut attached = None;
        if restored && !dead {
            attached = self.restore().await;
        } else if let (true, Some(handle)) = (restored, self.inner.lock().record.handle.take()) {
            // Ended, but what its driver keeps may be left.
            let driver = self.shared.drivers.get(&self.task().driver).cloned();
            tokio::spawn(async move {
                if let Some(driver) = driver {
                    driver.forget(&handle).await;
                }
            });
        }
        let mut next = if dead { Next::Dead } else { Next::Again };
        loop {
            next = match next {
                Next::Again => self.once(attached.take()).await,
                Next::Shutdown => return,
                Next::Dead => {
                    self.deregister_services();
                    self.close_api();
                    self.templates.stop();
                    self.change(None, Some(TaskStatus::Dead));
                    self.count(if self.state().failed { "failed" } else { "complete" });
                    if self.stage == Stage::Poststop || self.is_killed() {
                        break;
                    }
                    let seen = self.orders.borrow().revivals;
                    tokio::select! {
                        biased;
                        () = self.ordered(|o| o.revivals > seen) => Next::Again,
                        () = self.ordered(|o| o.release) => break,
                        () = self.killed() => break,
                        () = self.going() => Next::Shutdown,
                    }
                }
            };
        }
        self.inner.lock().record.complete = true;
        self.change(None, None);
        self.persist().await;
    }

    /// Finds the task of an earlier run again (`docs/spec/client.md §25.3`).
    async fn restore(&self) -> Option<Arc<dyn RunningTask>> {
        let (handle, running) = {
            let inner = self.inner.lock();
            (inner.record.handle.clone()?, inner.record.state.state == TaskStatus::Running)
        };
        let driver = self.shared.drivers.get(&self.task().driver).cloned()?;
        match driver.recover(&handle).await {
            Ok(task) => {
                self.inner.lock().handle = Some(task.clone());
                self.resume_secrets();
                self.resume_templates();
                let opened = self.owner.upgrade().map(|o| self.open_api(&o, driver.as_ref()));
                if let Some(Err(error)) = opened {
                    tracing::warn!(target: "client.alloc_runner.task_runner", task = self.name, %error, "the task API is not served");
                }
                Some(task)
            }
            Err(error) => {
                driver.forget(&handle).await;
                self.inner.lock().record.handle = None;
                let alloc = self.owner.upgrade().map(|o| o.alloc())?;
                let system = alloc.job.as_ref().is_some_and(|j| j.r#type == JobType::System);
                if running && !alloc.terminal() && !system {
                    tracing::warn!(target: "client.alloc_runner.task_runner", alloc_id = alloc.id.as_str(), task = self.name, %error, "task not found again");
                    let text = "failed to restore task; will not run until server is contacted";
                    self.change(events::message(TaskEventType::FailedRestoringTask, text), Some(TaskStatus::Pending));
                    let mut contacted = self.shared.contacted.subscribe();
                    tokio::select! {
                        _ = contacted.wait_for(|c| *c) => {}
                        () = self.killed() => {}
                        () = self.going() => {}
                    }
                }
                None
            }
        }
    }

    /// One start and what follows, or what follows a task that runs already.
    async fn once(&self, attached: Option<Arc<dyn RunningTask>>) -> Next {
        let mut handle = match attached {
            Some(handle) => handle,
            None => {
                tokio::select! {
                    biased;
                    () = self.killed() => return Next::Dead,
                    () = self.going() => return Next::Shutdown,
                    () = self.ordered(|o| o.may_start) => {}
                }
                match self.launch().await {
                    Ok(handle) => handle,
                    Err(NotStarted::Killed) => return Next::Dead,
                    Err(NotStarted::Shutdown) => return Next::Shutdown,
                    // A failure while the task is killed is no failure.
                    Err(NotStarted::Failed(_)) if self.is_killed() => return Next::Dead,
                    Err(NotStarted::Failed(ending)) => return self.follow(&ending).await,
                }
            }
        };
        self.persist().await;
        self.register_services();
        let mut failed = false;
        let exit = {
            // The plugin is no longer registered when the task has ended.
            let mut supervision = std::pin::pin!(self.supervise_csi_plugin());
            loop {
                let exit = tokio::select! {
                    biased;
                    exit = handle.wait() => exit,
                    failure = &mut supervision, if !failed => {
                        failed = true;
                        self.plugin_failed(&failure);
                        self.kill_plugin(&handle).await
                    }
                    () = self.killed() => self.kill_running(&handle).await,
                    () = self.going() => return Next::Shutdown,
                };
                if !exit.lost {
                    break exit;
                }
                match self.reattach(&handle).await {
                    Ok(again) => handle = again,
                    Err(error) => break Exit { message: error.to_string(), code: 1, ..Exit::default() },
                }
            }
        };
        self.emit(events::terminated(exit.code, exit.signal, exit.oom, &exit.message));
        if exit.oom {
            self.count("oom_killed");
        }
        handle.destroy().await;
        {
            let mut inner = self.inner.lock();
            inner.handle = None;
            inner.record.handle = None;
        }
        self.follow(&Ending::Exited { success: exit.success() && !failed }).await
    }

    /// Ends a running storage plugin that did not become healthy; gives how it ended.
    async fn kill_plugin(&self, handle: &Arc<dyn RunningTask>) -> Exit {
        if let Err(error) = self.stop(handle).await {
            tracing::error!(target: "client.alloc_runner.task_runner", task = self.name, %error, "failed to kill a storage plugin");
        }
        tokio::select! {
            exit = handle.wait() => exit,
            () = self.killed() => self.kill_running(handle).await,
        }
    }

    /// The driver lost the task: finds it again.
    async fn reattach(&self, lost: &Arc<dyn RunningTask>) -> Result<Arc<dyn RunningTask>, DriverError> {
        let driver = self.shared.drivers.get(&self.task().driver).ok_or(DriverError::NoDriver)?;
        let again = driver.recover(&lost.state()).await?;
        let mut inner = self.inner.lock();
        inner.record.handle = Some(again.state());
        inner.handle = Some(again.clone());
        Ok(again)
    }

    /// Asks the restart tracker, and waits as long as it says.
    async fn follow(&self, ending: &Ending) -> Next {
        let now = clock::now();
        let decision = self.shared.draw(|random| self.inner.lock().tracker.decide(ending, now, random));
        let delay = match decision {
            Decision::Killed => {
                let error = std::mem::take(&mut self.inner.lock().kill_error);
                self.change(events::killed(&error), Some(TaskStatus::Dead));
                return Next::Dead;
            }
            Decision::Finished => return Next::Dead,
            Decision::Failed { reason } => {
                self.change(events::not_restarting(&reason), Some(TaskStatus::Dead));
                return Next::Dead;
            }
            Decision::Restart { reason, delay } => {
                self.change(events::restarting(&reason, delay), Some(TaskStatus::Pending));
                self.count("restart");
                delay
            }
        };
        tokio::select! {
            biased;
            () = self.killed() => Next::Dead,
            () = self.going() => Next::Shutdown,
            () = tokio::time::sleep(duration::of_nanos(delay)) => Next::Again,
        }
    }
}
