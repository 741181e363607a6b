//! Monitors a dispatched job until it is dead (`docs/spec/cli.md §8.10`).

use std::time::{Duration, Instant};

use super::frame::Frame;
use crate::connection::Connection;
use crate::context::clock;
use crate::render::allocations::{self, Listing};
use crate::render::table::{Form, headed, table};
use crate::render::ui::Ui;
use encamp_api::ApiError;
use encamp_model::{JobStatus, JobSummary, format_duration, quoted};

/// The maximum time to wait for a job.
const PATIENCE: Duration = Duration::from_secs(300);
/// The polling interval.
const PAUSE: Duration = Duration::from_millis(500);

/// The monitored job, and how it is monitored.
#[derive(Debug, Clone, Copy)]
pub struct Watch<'a> {
    /// Its namespace, if it is known.
    pub namespace: Option<&'a str>,
    /// Its ID.
    pub id: &'a str,
    /// Full IDs, and the allocations.
    pub verbose: bool,
}

/// Monitors a job until it is dead. Returns the exit code: 0, 1 after a timeout, or 2 if allocations failed. On a
/// terminal, the counts are drawn in place; otherwise they are printed whenever they change.
pub fn watch(connection: &Connection, ui: &mut Ui<'_>, what: &Watch<'_>) -> Result<u8, ApiError> {
    let begin = Instant::now();
    let mut frame = Frame::of_terminal(ui);
    let mut shown = String::new();
    let name = quoted(what.id);
    loop {
        let (dead, failed, text) = connection.wait(look(connection, what))?;
        match &mut frame {
            Some(frame) if !dead => frame.draw(ui, &format!("Job {name} in progress..."), &text),
            Some(frame) => {
                let (mark, end) = if failed { ("!", "failed") } else { ("✓", "complete") };
                frame.end(ui, mark, &format!("Job {name} {end}"), &text);
            }
            None if text != shown => {
                ui.output_markup(&text);
                shown = text;
            }
            None => {}
        }
        if dead {
            return Ok(if failed { 2 } else { 0 });
        }
        if begin.elapsed() >= PATIENCE {
            let patience = format_duration(i64::try_from(PATIENCE.as_nanos()).unwrap_or(i64::MAX));
            ui.error(&format!("Timeout reached after {patience}"));
            return Ok(1);
        }
        connection.pause(PAUSE);
    }
}

/// Whether the job is dead, whether allocations failed, and the text to print. Contains markup.
async fn look(connection: &Connection, what: &Watch<'_>) -> Result<(bool, bool, String), ApiError> {
    let client = &connection.client;
    // The job is read first: counts that are read after it was dead are final.
    let (job, _) = client.job_within(what.namespace, what.id).await?;
    let (summary, _) = client.job_summary(what.namespace, what.id).await?;
    let failed = summary.summary.values().any(|s| s.failed > 0);
    let mut text = format!("\n[bold]Deployed[reset]\n{}", counts(&summary));
    if what.verbose {
        let (list, _) = client.job_allocations(what.namespace, what.id, false).await?;
        let listing = Listing { verbose: true, node_names: true, zone: &connection.zone, now: clock() };
        text.push_str(&format!("\n\n[bold]Allocations[reset]\n{}", allocations::stubs(&list, &listing)));
    }
    Ok((job.status.as_deref().map(JobStatus::from) == Some(JobStatus::Dead), failed, text))
}

fn counts(summary: &JobSummary) -> String {
    let rows = summary.summary.iter().map(|(group, s)| {
        let counts = [s.queued, s.complete, s.failed, s.running, s.starting, s.lost, s.unknown];
        format!("{group}|{}", counts.map(|n| n.to_string()).join("|"))
    });
    table(&headed("Task Group|Queued|Complete|Failed|Running|Starting|Lost|Unknown", rows), Form::List)
}
