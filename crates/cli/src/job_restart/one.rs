//! Restarting one allocation in place, or rescheduling it.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::JobRestart;
use super::batches::REMINDER;
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::render::values;
use encamp_api::Client;
use encamp_model::{AllocListStub, ClientStatus, DeploymentStatus, quoted};

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
) -> CommandResult<()> {
    let id = |full: &str| quoted(values::id(full, how.verbose));
    // A rollout changes the same allocations.
    let latest = client.latest_deployment(namespace, job).await;
    let (latest, _) = latest.context(format_args!("Error retrieving the latest deployment of job {}", quoted(job)))?;
    if let Some(d) = latest.filter(|d| !has_ended(&d.status)) {
        return Err(CommandError::new(format!("Deployment {} is {}", id(&d.id), quoted(d.status.as_str()))));
    }
    let within = Some(a.namespace.as_str()).filter(|n| !n.is_empty()).or(namespace);
    let place = format!("allocation {} for group {}", id(&a.id), quoted(&a.task_group));
    let failed = format!("Error restarting allocation {}", id(&a.id));
    if how.reschedule {
        tell(format!("Rescheduling {place}"));
        let stopped = client.stop_allocation(within, &a.id, how.no_shutdown_delay, true).await;
        stopped.context(&failed)?;
        return replaced(client, a, how, tell).await.context(failed);
    }
    if how.all_tasks {
        tell(format!("Restarting all tasks in {place}"));
        return client.restart_allocation(within, &a.id, "", true).await.context(failed);
    }
    if how.task.is_empty() {
        tell(format!("Restarting running tasks in {place}"));
        return client.restart_allocation(within, &a.id, "", false).await.context(failed);
    }
    for task in a.task_states.keys().filter(|task| how.task.contains(task)) {
        tell(format!("Restarting task {} in {place}", quoted(&task)));
        let restarted = client.restart_allocation(within, &a.id, &task, false).await;
        restarted.context(format_args!("Error restarting task {} in {place}", quoted(&task)))?;
    }
    Ok(())
}

/// Whether a deployment with this status changes no allocations any more.
fn has_ended(status: &DeploymentStatus) -> bool {
    match status {
        DeploymentStatus::Failed | DeploymentStatus::Successful | DeploymentStatus::Cancelled => true,
        DeploymentStatus::Running
        | DeploymentStatus::Paused
        | DeploymentStatus::Initializing
        | DeploymentStatus::Pending
        | DeploymentStatus::Blocked
        | DeploymentStatus::Unblocking
        | DeploymentStatus::Unset
        | DeploymentStatus::Other(_) => false,
    }
}

/// Waits until a stopped allocation has a replacement and the replacement runs.
async fn replaced(client: &Client, a: &AllocListStub, how: &JobRestart, tell: impl Fn(String)) -> CommandResult<()> {
    let id = |full: &str| quoted(values::id(full, how.verbose));
    let mut reminded = Instant::now();
    let mut remind = |tell: &dyn Fn(String)| {
        if reminded.elapsed() >= REMINDER {
            reminded = Instant::now();
            tell(format!("Still waiting for allocation {} to be replaced", id(&a.id)));
        }
    };
    let next = loop {
        let (now, _) = client.allocation(&a.id).await?;
        if !now.next_allocation.is_empty() {
            break now.next_allocation;
        }
        remind(&tell);
        sleep(PAUSE).await;
    };
    let name = id(&next);
    tell(format!("Allocation {} replaced by {name}, waiting for {name} to start running", id(&a.id)));
    loop {
        let (now, _) = client.allocation(&next).await?;
        match &now.client_status {
            ClientStatus::Running => {
                tell(format!("Allocation {name} is \"running\""));
                return Ok(());
            }
            ClientStatus::Pending | ClientStatus::Unset => {}
            ended @ (ClientStatus::Complete
            | ClientStatus::Failed
            | ClientStatus::Lost
            | ClientStatus::Unknown
            | ClientStatus::Other(_)) => {
                return Err(CommandError::new(format!("its replacement {name} is {}", quoted(ended.as_str()))));
            }
        }
        remind(&tell);
        sleep(PAUSE).await;
    }
}
