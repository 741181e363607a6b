//! Stops allocations that must not run long without servers (`docs/spec/client.md §8.2`), and drains the node when it
//! leaves (`docs/spec/client.md §8.5`).

use std::sync::Arc;
use std::time::Duration;

use super::Agent;
use crate::clock;
use crate::error::DrainError;
use encamp_model::{DrainStrategy, JobType, SECOND, Time};

/// How often the time of the last contact is checked.
const LOOK: Duration = Duration::from_millis(500);
/// A second more than the deadline of a drain; then it has failed.
const DRAIN_GRACE: i64 = 5 * SECOND;

/// Whether an allocation has been without servers for too long.
pub fn expired(last_ok: i64, interval: i64, now: i64) -> bool {
    now > last_ok.saturating_add(interval)
}

impl Agent {
    /// Ends allocations that outlived their time without servers, until the end.
    pub(super) async fn disconnect_forever(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = self.stopped() => return,
            }
            let last_ok = self.beat.lock().ok;
            for runner in self.all() {
                let interval = runner.alloc().stop_on_client_after();
                let late = interval.is_some_and(|i| expired(last_ok, i, clock::now()));
                if late && !runner.is_terminal() && !runner.is_stopping() {
                    tracing::info!(target: "client.heartbeatstop", alloc_id = runner.id, "stopping alloc for stop_on_client_after");
                    let me = self.clone();
                    tokio::spawn(async move {
                        if let Err(failure) = runner.destroy().await {
                            me.not_removed(&runner.id, Some(&runner), &failure).await;
                        }
                    });
                }
            }
        }
    }

    /// Drains the node before it leaves; an error leaves it undrained.
    pub(super) async fn drain_self(&self) -> Result<(), DrainError> {
        let Some(settings) = self.shared.config.drain_on_shutdown.clone().filter(|_| !self.dev()) else {
            return Ok(());
        };
        let deadline = i64::try_from(settings.deadline.as_nanos()).unwrap_or(i64::MAX);
        let begin = clock::now();
        let limit = begin.saturating_add(deadline).saturating_add(DRAIN_GRACE);
        let force = if deadline > 0 { Time::from_unix_nanos(begin.saturating_add(deadline)) } else { Time::ZERO };
        let strategy = DrainStrategy {
            deadline,
            ignore_system_jobs: settings.ignore_system_jobs,
            force_deadline: force,
            ..DrainStrategy::default()
        };
        let meta = [("message".to_string(), "shutting down".to_string())].into();
        self.servers.drain_self(&self.who(), strategy, meta).await?;
        loop {
            let drained = match self.servers.node(&self.who()).await {
                Ok(node) => node.is_none_or(|n| n.drain_strategy.is_none()),
                Err(_) => self.all().iter().all(|r| {
                    let alloc = r.alloc();
                    let system =
                        alloc.job.as_ref().is_some_and(|j| matches!(j.r#type, JobType::System | JobType::Sysbatch));
                    r.is_terminal() || (settings.ignore_system_jobs && system)
                }),
            };
            if drained {
                return Ok(());
            }
            if deadline > 0 && clock::now() > limit {
                return Err(DrainError::Deadline);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_has_to_be_over() {
        assert!(!expired(5, 10, 15) && expired(5, 10, 16) && !expired(0, i64::MAX, 99));
    }
}
