//! Monitors a deployment until it ends (`docs/spec/cli.md §6.2`).

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};

use super::Lines;
use super::frame::Frame;
use crate::context::clock;
use crate::error::{CommandResult, ErrorContext};
use crate::render::allocations::{self, Listing};
use crate::render::{deployments, values};
use encamp_api::{ApiError, Client, Meta};
use encamp_model::{AllocListStub, Deployment, DeploymentStatus, format_duration, quoted};

/// The delay before the deployment that follows a failed one is looked up.
const ROLLBACK_PAUSE: Duration = Duration::from_secs(1);
/// The time between frames on a terminal.
const FRAME: Duration = Duration::from_millis(100);
/// The number of retries of failed reads on a terminal.
const RETRIES: u32 = 10;
/// The maximum time between retries.
const LONGEST_PAUSE: Duration = Duration::from_secs(12);

/// How a deployment is monitored.
#[derive(Debug, Clone, Copy, Default)]
pub struct Watch {
    /// Full IDs, and the allocations.
    pub verbose: bool,
    /// The wait time of blocking queries.
    pub wait: Option<Duration>,
    /// The index of the known state.
    pub index: Option<u64>,
}

/// Whether this status only changes by an operator's action.
fn ended(status: &DeploymentStatus) -> bool {
    match status {
        DeploymentStatus::Failed
        | DeploymentStatus::Successful
        | DeploymentStatus::Cancelled
        | DeploymentStatus::Blocked => true,
        DeploymentStatus::Running
        | DeploymentStatus::Paused
        | DeploymentStatus::Initializing
        | DeploymentStatus::Pending
        | DeploymentStatus::Unblocking
        | DeploymentStatus::Unset
        | DeploymentStatus::Other(_) => false,
    }
}

/// Whether a failed deployment is followed by a rollback.
fn rolls_back(d: &Deployment) -> bool {
    d.status == DeploymentStatus::Failed && d.task_groups.values().flatten().any(|g| g.auto_revert)
}

/// Monitors a deployment, and its rollback if it fails. Returns the final status of the first deployment; `None` if it
/// could not be read.
pub async fn watch(client: &Client, lines: &mut Lines<'_, '_>, id: &str, how: &Watch) -> Option<DeploymentStatus> {
    match Frame::of_terminal(lines.ui) {
        Some(frame) => on_terminal(client, lines, id, how, frame).await,
        None => as_lines(client, lines, id, how).await,
    }
}

/// Monitors with sequential lines and blocks.
async fn as_lines(client: &Client, lines: &mut Lines<'_, '_>, id: &str, how: &Watch) -> Option<DeploymentStatus> {
    let mut first: Option<DeploymentStatus> = None;
    let mut id = id.to_string();
    let mut index = how.index;
    loop {
        let (deployment, allocations, meta) = match look(client, &id, index, how).await {
            Ok(seen) => seen,
            Err(e) => {
                lines.error(&format!("{}: Error fetching deployment: {e}", lines.now()));
                return first;
            }
        };
        index = Some(meta.index);
        let text = text(&deployment, allocations.as_deref(), how, lines);
        lines.output_markup(&format!("\n{text}"));
        if !ended(&deployment.status) {
            continue;
        }
        first.get_or_insert_with(|| deployment.status.clone());
        if !rolls_back(&deployment) {
            return first;
        }
        sleep(ROLLBACK_PAUSE).await;
        lines.output("");
        match successor(client, &deployment).await {
            Ok(Some(next)) => (id, index) = (next, None),
            Ok(None) => return first,
            Err(e) => {
                lines.error(&format!("{}: {e}", lines.now()));
                return first;
            }
        }
    }
}

/// Monitors in place, with redrawn frames.
async fn on_terminal(
    client: &Client,
    lines: &mut Lines<'_, '_>,
    id: &str,
    how: &Watch,
    mut frame: Frame,
) -> Option<DeploymentStatus> {
    let mut first: Option<DeploymentStatus> = None;
    let mut id = id.to_string();
    // The known state is shown immediately.
    let mut index = None;
    let mut body = String::new();
    let mut failures = 0;
    loop {
        let name = quoted(values::id(&id, how.verbose));
        let running = format!("Deployment {name} in progress...");
        let read = look(client, &id, index, how);
        let looked = drawing(read, || frame.draw(lines.ui, &running, &body)).await;
        let (deployment, allocations, meta) = match looked {
            Ok(seen) => seen,
            Err(e) if failures < RETRIES => {
                failures += 1;
                let pause = pause(failures);
                let shown = format_duration(i64::try_from(pause.as_nanos()).unwrap_or(i64::MAX));
                let failed = format!("Failed fetching deployment: {e}, retrying in {shown}");
                body = format!("\n{failed} (attempt {failures}/{RETRIES})\n{body}");
                frame.draw(lines.ui, &running, &body);
                sleep(pause).await;
                continue;
            }
            Err(e) => {
                let failed = format!("[red]{}: Error fetching deployment: {e}[reset]", lines.now());
                frame.end(lines.ui, "!", &format!("Deployment {name} could not be read"), &format!("\n{failed}"));
                return first;
            }
        };
        failures = 0;
        index = Some(meta.index);
        body = format!("\n{}", text(&deployment, allocations.as_deref(), how, lines));
        if !ended(&deployment.status) {
            continue;
        }
        first.get_or_insert_with(|| deployment.status.clone());
        let mark = if deployment.status == DeploymentStatus::Successful { "✓" } else { "!" };
        frame.end(lines.ui, mark, &format!("Deployment {name} {}", deployment.status), &body);
        if !rolls_back(&deployment) {
            return first;
        }
        sleep(ROLLBACK_PAUSE).await;
        match successor(client, &deployment).await {
            Ok(Some(next)) => (id, index, body) = (next, None, String::new()),
            Ok(None) => return first,
            Err(e) => {
                lines.error(&format!("{}: {e}", lines.now()));
                return first;
            }
        }
    }
}

/// Waits for a read, and draws a frame at regular intervals until it ends.
async fn drawing<T>(read: impl Future<Output = T>, mut draw: impl FnMut()) -> T {
    let mut ticks = interval(FRAME);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut read = std::pin::pin!(read);
    loop {
        tokio::select! {
            seen = &mut read => break seen,
            _ = ticks.tick() => draw(),
        }
    }
}

/// The time before the next read after this many failures in a row.
fn pause(failures: u32) -> Duration {
    Duration::from_secs(1 << failures.saturating_sub(1).min(4)).min(LONGEST_PAUSE)
}

/// The deployment once it is newer than the index, and its allocations if requested.
async fn look(
    client: &Client,
    id: &str,
    index: Option<u64>,
    how: &Watch,
) -> Result<(Deployment, Option<Vec<AllocListStub>>, Meta), ApiError> {
    let (deployment, meta) = client.deployment(id, index, how.wait).await?;
    let allocations = match how.verbose {
        true => Some(client.deployment_allocations(id).await?.0),
        false => None,
    };
    Ok((deployment, allocations, meta))
}

/// The ID of the rollback of a failed deployment.
async fn successor(client: &Client, failed: &Deployment) -> CommandResult<Option<String>> {
    let namespace = Some(failed.namespace.as_str()).filter(|n| !n.is_empty());
    let latest = client.latest_deployment(namespace, &failed.job_id).await;
    let (latest, _) = latest.context("Error fetching deployment of previous job version")?;
    Ok(latest.map(|d| d.id).filter(|id| *id != failed.id))
}

/// The time and the deployment. Contains markup.
fn text(d: &Deployment, allocations: Option<&[AllocListStub]>, how: &Watch, lines: &Lines<'_, '_>) -> String {
    let mut out = format!("{}\n{}", lines.now(), deployments::block(d, how.verbose));
    if let Some(list) = allocations {
        let listing = Listing { verbose: how.verbose, node_names: true, zone: &lines.zone, now: clock() };
        out.push_str(&format!("\n\n[bold]Allocations[reset]\n{}", allocations::stubs(list, &listing)));
    }
    out
}
