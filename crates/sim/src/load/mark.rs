//! Counters of a scenario between two points in time.

use std::time::Instant;

use super::LoadError;
use super::outcome::Step;
use super::probe::{self, Evaluations};
use super::process::{self, ServerProcess};
use super::stage::PATIENCE;
use encamp_api::Client;

/// A state to count from.
pub struct Mark {
    evaluations: Evaluations,
    entries: u64,
    index: u64,
    cpu_seconds: f64,
    at: Instant,
}

impl Mark {
    /// The state as it is, as the leader tells it.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn now(leader: &Client, servers: &[ServerProcess]) -> Result<Mark, LoadError> {
        let evaluations = probe::evaluations(leader).await?;
        let (entries, index) = probe::log(leader).await?;
        Ok(Mark { evaluations, entries, index, cpu_seconds: process::cpu_seconds(servers), at: Instant::now() })
    }

    /// The work that was done since then, until now.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn step(
        &self,
        leader: &Client,
        servers: &[ServerProcess],
        name: &'static str,
    ) -> Result<Step, LoadError> {
        let seconds = self.at.elapsed().as_secs_f64();
        let (entries, index) = probe::log(leader).await?;
        let (then, now) = (&self.evaluations, probe::evaluations(leader).await?);
        let grown = |f: fn(&Evaluations) -> u64| f(&now).saturating_sub(f(then));
        let (processed, canceled) = (grown(|e| e.complete + e.failed), grown(|e| e.canceled));
        Ok(Step {
            name,
            evaluations_pending: then.pending.max(processed + canceled),
            evaluations_processed: processed,
            evaluations_canceled: canceled,
            log_entries: entries.saturating_sub(self.entries),
            operations: index.saturating_sub(self.index),
            seconds,
            server_cpu_seconds: process::cpu_seconds(servers) - self.cpu_seconds,
            ..Step::default()
        })
    }
}

/// Waits until no evaluation is pending any more.
///
/// # Errors
/// The server does not answer, or it takes an hour.
pub async fn idle(leader: &Client, tell: &dyn Fn(String)) -> Result<(), LoadError> {
    let look = || async {
        let held = probe::held(leader).await?;
        // Evaluations that the broker does not hold any more may still have to be written.
        Ok((held, if held == 0.0 { probe::pending(leader).await? } else { 0 }))
    };
    let none = |(held, pending): &(f64, u64)| {
        tell(format!("{held} evaluations pend"));
        *held == 0.0 && *pending == 0
    };
    probe::until("settling", PATIENCE, look, none).await.map(drop)
}

/// Waits until no evaluation is pending any more, and counts what was done since the mark.
///
/// # Errors
/// The server does not answer, or it takes an hour.
pub async fn settle(
    leader: &Client,
    servers: &[ServerProcess],
    name: &'static str,
    mark: &Mark,
    tell: &dyn Fn(String),
) -> Result<Step, LoadError> {
    idle(leader, tell).await?;
    mark.step(leader, servers, name).await
}
