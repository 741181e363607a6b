//! Restarting one allocation in place, or rescheduling it.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::JobRestart;
use super::batches::REMINDER;
use crate::cli::render::values;
use encamp_api::Client;
use encamp_model::{AllocListStub, quoted};

/// The interval at which an allocation is polled.
const PAUSE: Duration = Duration::from_secs(1);

/// Restarts or reschedules an allocation; `tell` receives progress messages. The error is a message.
pub(super) async fn restart(
    client: &Client,
    namespace: Option<&str>,
    job: &str,
    a: &AllocListStub,
    how: &JobRestart,
    tell: impl Fn(String),
) -> Result<(), String> {
    let id = |full: &str| quoted(values::id(full, how.verbose));
    // A rollout changes the same allocations.
    let latest = client.latest_deployment(namespace, job).await;
    let (latest, _) =
        latest.map_err(|e| format!("Error retrieving the latest deployment of job {}: {e}", quoted(job)))?;
    if let Some(d) = latest.filter(|d| !matches!(d.status.as_str(), "failed" | "successful" | "cancelled")) {
        return Err(format!("Deployment {} is {}", id(&d.id), quoted(&d.status)));
    }
    let within = Some(a.namespace.as_str()).filter(|n| !n.is_empty()).or(namespace);
    let place = format!("allocation {} for group {}", id(&a.id), quoted(&a.task_group));
    let failed = |e: String| format!("Error restarting allocation {}: {e}", id(&a.id));
    if how.reschedule {
        tell(format!("Rescheduling {place}"));
        let stopped = client.stop_allocation(within, &a.id, how.no_shutdown_delay, true).await;
        stopped.map_err(|e| failed(e.to_string()))?;
        return replaced(client, a, how, tell).await.map_err(failed);
    }
    if how.all_tasks {
        tell(format!("Restarting all tasks in {place}"));
        return client.restart_allocation(within, &a.id, "", true).await.map_err(|e| failed(e.to_string()));
    }
    if how.task.is_empty() {
        tell(format!("Restarting running tasks in {place}"));
        return client.restart_allocation(within, &a.id, "", false).await.map_err(|e| failed(e.to_string()));
    }
    for task in a.task_states.keys().filter(|task| how.task.contains(task)) {
        tell(format!("Restarting task {} in {place}", quoted(task)));
        let restarted = client.restart_allocation(within, &a.id, task, false).await;
        restarted.map_err(|e| format!("Error restarting task {} in {place}: {e}", quoted(task)))?;
    }
    Ok(())
}

/// Waits until a stopped allocation has a replacement and the replacement runs.
async fn replaced(client: &Client, a: &AllocListStub, how: &JobRestart, tell: impl Fn(String)) -> Result<(), String> {
    let id = |full: &str| quoted(values::id(full, how.verbose));
    let mut reminded = Instant::now();
    let mut remind = |tell: &dyn Fn(String)| {
        if reminded.elapsed() >= REMINDER {
            reminded = Instant::now();
            tell(format!("Still waiting for allocation {} to be replaced", id(&a.id)));
        }
    };
    let next = loop {
        let (now, _) = client.allocation(&a.id).await.map_err(|e| e.to_string())?;
        if !now.next_allocation.is_empty() {
            break now.next_allocation;
        }
        remind(&tell);
        sleep(PAUSE).await;
    };
    let name = id(&next);
    tell(format!("Allocation {} replaced by {name}, waiting for {name} to start running", id(&a.id)));
    loop {
        let (now, _) = client.allocation(&next).await.map_err(|e| e.to_string())?;
        match now.client_status.as_str() {
            "running" => {
                tell(format!("Allocation {name} is \"running\""));
                return Ok(());
            }
            "pending" | "" => {}
            other => return Err(format!("its replacement {name} is {}", quoted(other))),
        }
        remind(&tell);
        sleep(PAUSE).await;
    }
}
