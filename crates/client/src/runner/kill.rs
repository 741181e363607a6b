//! Kills a task (`docs/spec/client.md §10.5`).

use std::sync::Arc;
use std::time::Duration;

use super::task::TaskRunner;
use crate::drivers::{DriverError, Exit, RunningTask};
use crate::events;
use encamp_model::{TaskEvent, TaskEventType, TaskStatus, duration, format_duration};

/// Pauses between the attempts to stop a task, in seconds.
const PAUSES: [u64; 4] = [5, 20, 80, 120];
/// The time that a task without `kill_timeout` may take to end, in nanoseconds.
const DEFAULT_KILL_TIMEOUT: i64 = 5_000_000_000;

impl TaskRunner {
    /// Asks the task to end; its events begin with `event`.
    pub(crate) fn begin_kill(&self, event: TaskEvent) {
        self.emit(event);
        self.order(|o| o.end = true);
    }

    /// The time the task may take to end, in nanoseconds.
    pub fn kill_timeout(&self) -> i64 {
        let wanted = match self.task().kill_timeout {
            n @ 1.. => n,
            _ => DEFAULT_KILL_TIMEOUT,
        };
        let most = i64::try_from(self.shared.config.max_kill_timeout.as_nanos()).unwrap_or(i64::MAX);
        wanted.min(most)
    }

    /// Ends waits for the shutdown.
    pub fn hurry(&self) {
        self.order(|o| o.hurry = true);
    }

    /// Ends the running task after its shutdown delay; gives how it ended.
    pub(super) async fn kill_running(&self, handle: &Arc<dyn RunningTask>) -> Exit {
        self.deregister_services();
        let delay = self.task().shutdown_delay;
        if delay > 0 {
            let text = format_duration(delay);
            if self.orders.borrow().hurry {
                let text = format!("Skipping shutdown_delay of {text} before killing the task.");
                self.emit(events::message(TaskEventType::SkippingShutdownDelay, text));
            } else {
                let text = format!("Waiting for shutdown_delay of {text} before killing the task.");
                self.change(events::message(TaskEventType::WaitingForShutdownDelay, text), Some(TaskStatus::Pending));
                tokio::select! {
                    // Ended by itself: nothing is left to kill.
                    exit = handle.wait() => return exit,
                    () = tokio::time::sleep(duration::of_nanos(delay)) => {}
                    () = self.ordered(|o| o.hurry) => {}
                }
            }
        }
        self.inner.lock().tracker.set_killed();
        if let Err(error) = self.stop(handle).await {
            tracing::error!(target: "client.alloc_runner.task_runner", task = self.name, %error, "failed to kill task. Resources may have been leaked");
            self.inner.lock().kill_error = error.to_string();
        }
        handle.wait().await
    }

    /// Stops the task, with several attempts.
    pub(super) async fn stop(&self, handle: &Arc<dyn RunningTask>) -> Result<(), DriverError> {
        let timeout = duration::of_nanos(self.kill_timeout());
        let signal = self.task().kill_signal.clone();
        let mut pauses = PAUSES.into_iter();
        loop {
            match (handle.stop(&signal, timeout).await, pauses.next()) {
                (Ok(()), _) => return Ok(()),
                (Err(error), None) => return Err(error),
                (Err(error), Some(pause)) => {
                    tracing::warn!(target: "client.alloc_runner.task_runner", task = self.name, %error, "failed to kill task");
                    tokio::time::sleep(Duration::from_secs(pause)).await;
                }
            }
        }
    }
}
