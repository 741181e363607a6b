//! Reads the state and the metrics of servers as their users see them: over the HTTP API.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::LoadError;
use encamp_api::stream::RawRequest;
use encamp_api::{Client, Query};
use encamp_model::EvalStatus;

/// How often a condition is checked: steps that take less than a second are measured with it.
const LOOK: Duration = Duration::from_millis(50);
/// How many times as long as a look took the next one waits at least, and the longest such wait. Listing 30,000 nodes
/// four times a second took more of the server than their heartbeats.
const SHARE: u32 = 5;
const LONGEST_REST: Duration = Duration::from_secs(2);

/// Evaluations by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evaluations {
    /// To be processed.
    pub pending: u64,
    /// Processed.
    pub complete: u64,
    /// Cancelled.
    pub canceled: u64,
    /// Failed.
    pub failed: u64,
    /// Wait for capacity.
    pub blocked: u64,
}

/// A server's metrics in Prometheus form, its gauges as of now.
///
/// # Errors
/// The server does not answer, or keeps no such metrics.
pub async fn metrics(client: &Client) -> Result<String, LoadError> {
    let failed = |e| LoadError::of("reading the metrics", e);
    let query = Query::default().with("format", "prometheus");
    let request = RawRequest { path: "/v1/metrics".into(), query, ..RawRequest::default() };
    let mut stream = client.send(&request, false).await.map_err(failed)?;
    let mut text = Vec::new();
    while let Some(part) = stream.next().await.map_err(failed)? {
        text.extend(part);
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The value of a gauge in such a text; `None` if the server does not tell it: it does not lead, for one.
pub fn gauge(text: &str, name: &str) -> Option<f64> {
    let mut of = text.lines().filter(|l| l.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])));
    of.next()?.rsplit_once(' ')?.1.parse().ok()
}

/// How many nodes the leader expects heartbeats of.
///
/// # Errors
/// The server does not answer, or does not lead.
pub(crate) async fn awaited(client: &Client) -> Result<f64, LoadError> {
    let active = gauge(&metrics(client).await?, "nomad_nomad_heartbeat_active");
    active.ok_or_else(|| LoadError("the server does not report how many nodes it is waiting for".into()))
}

/// How many evaluations the leader's broker holds: whoever looks often must not have all evaluations counted each time.
///
/// # Errors
/// The server does not answer, or does not lead.
pub async fn held(client: &Client) -> Result<f64, LoadError> {
    let text = metrics(client).await?;
    let totals = ["ready", "unacked", "pending", "waiting", "cancelable"];
    let held: Option<f64> = totals.iter().map(|t| gauge(&text, &format!("nomad_nomad_broker_total_{t}"))).sum();
    held.ok_or_else(|| LoadError("the server does not report the contents of its broker".into()))
}

async fn count(client: &Client, status: EvalStatus) -> Result<u64, LoadError> {
    let counted = client.count_evaluations(&format!("Status == \"{status}\"")).await;
    let (counted, _) = counted.map_err(|e| LoadError::of("counting evaluations", e))?;
    Ok(counted.count)
}

/// How many evaluations are pending.
///
/// # Errors
/// The server does not answer.
pub async fn pending(client: &Client) -> Result<u64, LoadError> {
    count(client, EvalStatus::Pending).await
}

/// Evaluations by status.
///
/// # Errors
/// The server does not answer.
pub async fn evaluations(client: &Client) -> Result<Evaluations, LoadError> {
    Ok(Evaluations {
        pending: count(client, EvalStatus::Pending).await?,
        complete: count(client, EvalStatus::Complete).await?,
        canceled: count(client, EvalStatus::Canceled).await?,
        failed: count(client, EvalStatus::Failed).await?,
        blocked: count(client, EvalStatus::Blocked).await?,
    })
}

/// The number of the last entry in the leader's log, and the index of the last operation in it.
///
/// # Errors
/// The server does not answer, or does not lead.
pub async fn log(client: &Client) -> Result<(u64, u64), LoadError> {
    let entries = gauge(&metrics(client).await?, "nomad_raft_last_log_entry");
    let entries = entries.ok_or_else(|| LoadError("the server does not report its last log entry".into()))?;
    // Small enough to be exact.
    Ok((entries as u64, consensus(client, "last_log_index").await?))
}

/// A number that the server tells about its consensus.
///
/// # Errors
/// The server does not answer, or does not tell it.
pub async fn consensus(client: &Client, name: &str) -> Result<u64, LoadError> {
    stat(&agent(client).await?, name)
}

/// Whether enough has changed since the server started for it to write a snapshot.
///
/// # Errors
/// The server does not answer, or does not tell.
pub(crate) async fn snapshot_due(client: &Client) -> Result<bool, LoadError> {
    let agent_self = agent(client).await?;
    let threshold = agent_self.pointer("/config/Server/RaftSnapshotThreshold").and_then(Value::as_u64);
    let threshold = threshold.ok_or_else(|| LoadError("the server does not report when it writes snapshots".into()))?;
    Ok(stat(&agent_self, "applied_index")? >= threshold)
}

async fn agent(client: &Client) -> Result<Value, LoadError> {
    let (agent_self, _) = client.agent_self().await.map_err(|e| LoadError::of("reading the agent's state", e))?;
    Ok(agent_self)
}

fn stat(agent_self: &Value, name: &str) -> Result<u64, LoadError> {
    let number = agent_self.pointer(&format!("/stats/raft/{name}")).and_then(|v| v.as_str()?.parse().ok());
    number.ok_or_else(|| LoadError(format!("the server does not report its {name}")))
}

/// Looks until something holds; `tell` gets what was seen each time.
///
/// # Errors
/// The errors of `look`, or it takes too long: the error names `what`.
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
        let begun = Instant::now();
        let seen = look().await?;
        // Looking is work for the server, too.
        let rest = begun.elapsed().saturating_mul(SHARE).clamp(LOOK, LONGEST_REST);
        if enough(&seen) {
            return Ok(seen);
        }
        if Instant::now() > end {
            return Err(LoadError(format!("{what}: not within {limit:?}")));
        }
        tokio::time::sleep(rest).await;
    }
}
