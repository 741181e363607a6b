//! What scenarios count between two moments.

use std::time::{Duration, Instant};

use serde_json::json;

use super::LoadError;
use super::outcome::Step;
use super::probe::{self, Evaluations};
use super::process::ServerProcess;
use crate::api::Client;

/// Longest time for any step: the slowest reference takes some forty minutes for one.
pub const PATIENCE: Duration = Duration::from_secs(3600);

/// A state to count from.
pub struct Mark {
    evaluations: Evaluations,
    entries: u64,
    index: u64,
    at: Instant,
}

impl Mark {
    /// The state as it is.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn now(client: &Client) -> Result<Mark, LoadError> {
        let (entries, index) = probe::log(client).await?;
        let evaluations = probe::evaluations(client).await?;
        Ok(Mark { evaluations, entries, index, at: Instant::now() })
    }
}

/// Waits until no evaluation is pending any more, and counts what was done since the mark.
///
/// # Errors
/// The server does not answer, or it takes an hour.
pub async fn settle(
    client: &Client,
    name: &'static str,
    mark: &Mark,
    tell: &impl Fn(String),
) -> Result<Step, LoadError> {
    probe::until(
        "settling",
        PATIENCE,
        || probe::pending(client),
        |n| {
            tell(format!("{n} evaluations pend"));
            *n == 0
        },
    )
    .await?;
    let seconds = mark.at.elapsed().as_secs_f64();
    let (entries, index) = probe::log(client).await?;
    let (then, now) = (&mark.evaluations, probe::evaluations(client).await?);
    let grown = |f: fn(&Evaluations) -> u64| f(&now).saturating_sub(f(then));
    let (processed, canceled) = (grown(|e| e.complete + e.failed), grown(|e| e.canceled));
    Ok(Step {
        name,
        evaluations_pending: then.pending.max(processed + canceled),
        evaluations_processed: processed,
        evaluations_canceled: canceled,
        log_entries: entries.saturating_sub(mark.entries),
        operations: index.saturating_sub(mark.index),
        seconds,
    })
}

/// Sets how many workers each server has.
///
/// # Errors
/// A server refuses.
pub async fn schedulers(servers: &[ServerProcess], count: usize) -> Result<(), LoadError> {
    let body = json!({
        "num_schedulers": count,
        "enabled_schedulers": ["service", "batch", "system", "sysbatch", "_core"],
    });
    for s in servers {
        let set: Result<(serde_json::Value, _), _> =
            s.client().put("/v1/agent/schedulers/config", &Default::default(), &body).await;
        set.map_err(|e| LoadError::of("setting the number of schedulers", e))?;
    }
    Ok(())
}
