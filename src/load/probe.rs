//! What servers tell about themselves, as their users see it: over the HTTP interface.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::LoadError;
use crate::api::{Client, Query};

/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How old gauges can be.
const STALE: Duration = Duration::from_millis(1100);

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Gauge {
    name: String,
    value: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Summary {
    gauges: Vec<Gauge>,
}

/// Evaluations by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evaluations {
    /// To be processed.
    pub pending: u64,
    /// Processed.
    pub complete: u64,
    /// Called off.
    pub canceled: u64,
    /// Given up.
    pub failed: u64,
    /// Wait for room.
    pub blocked: u64,
}

/// Gauges without labels, by name. They are some second old.
///
/// # Errors
/// The server does not answer.
pub async fn gauges(client: &Client) -> Result<BTreeMap<String, f64>, LoadError> {
    let (summary, _) = client
        .get::<Summary>("/v1/metrics", &Query::default())
        .await
        .map_err(|e| LoadError::of("reading the metrics", e))?;
    Ok(summary.gauges.into_iter().map(|g| (g.name, g.value)).collect())
}

async fn count(client: &Client, status: &str) -> Result<u64, LoadError> {
    let counted = client.count_evaluations(&format!("Status == \"{status}\"")).await;
    let (counted, _) = counted.map_err(|e| LoadError::of("counting evaluations", e))?;
    Ok(counted.count)
}

/// How many evaluations are pending.
///
/// # Errors
/// The server does not answer.
pub async fn pending(client: &Client) -> Result<u64, LoadError> {
    count(client, "pending").await
}

/// Evaluations by status.
///
/// # Errors
/// The server does not answer.
pub async fn evaluations(client: &Client) -> Result<Evaluations, LoadError> {
    Ok(Evaluations {
        pending: count(client, "pending").await?,
        complete: count(client, "complete").await?,
        canceled: count(client, "canceled").await?,
        failed: count(client, "failed").await?,
        blocked: count(client, "blocked").await?,
    })
}

/// The number of the last entry in a server's log, and the index of the last operation in it.
///
/// # Errors
/// The server does not answer.
pub async fn log(client: &Client) -> Result<(u64, u64), LoadError> {
    tokio::time::sleep(STALE).await;
    let entries = gauges(client).await?.get("nomad.raft.last_log_entry").copied();
    let entries = entries.ok_or_else(|| LoadError("the server does not tell its last log entry".into()))?;
    let (told, _) = client.agent_self().await.map_err(|e| LoadError::of("reading the agent's state", e))?;
    let index = told.pointer("/stats/raft/last_log_index").and_then(|v| v.as_str()?.parse().ok());
    let index = index.ok_or_else(|| LoadError("the server does not tell its last index".into()))?;
    // Small enough to be exact.
    Ok((entries as u64, index))
}

/// Looks until something holds; `tell` gets what was seen each time.
///
/// # Errors
/// What looking gives, or it takes too long: the error names `what`.
pub async fn until<T, F>(
    what: &str,
    limit: Duration,
    mut look: impl FnMut() -> F,
    mut enough: impl FnMut(&T) -> bool,
) -> Result<T, LoadError>
where
    F: Future<Output = Result<T, LoadError>>,
{
    let end = Instant::now() + limit;
    loop {
        let seen = look().await?;
        if enough(&seen) {
            return Ok(seen);
        }
        if Instant::now() > end {
            return Err(LoadError(format!("{what}: not within {limit:?}")));
        }
        tokio::time::sleep(LOOK).await;
    }
}
