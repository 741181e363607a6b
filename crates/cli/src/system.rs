//! `system gc`, `system reconcile summaries` (`docs/spec/cli.md §14`).

use std::time::Duration;

use super::prelude::*;
use encamp_model::duration::parse_duration;
use encamp_model::gc::GcReport;
use serde::Serialize;

use super::gc::dry_run::DryRunFlags;
use super::render::gc;

/// Run garbage collection
///
/// Starts garbage collection of all terminal evaluations, allocations, jobs and deployments and of down nodes,
/// regardless of their age. It runs in the background: nothing is printed. With -wait, the command ends when the run has
/// ended, and prints how many objects it deleted.
///
/// With -dry-run, nothing is deleted: the command prints by kind what would be deleted, by which rule and setting, and
/// what would be kept and why. The running cluster is read, or a snapshot file or server backup.
#[derive(Debug, clap::Parser)]
pub struct SystemGc {
    /// Wait until the run has ended, and print how many objects it deleted
    #[arg(long)]
    pub wait: bool,
    /// How long to wait with -wait, at most 10m
    #[arg(long, value_name = "duration", default_value = "5m", value_parser = parse_duration)]
    pub wait_timeout: i64,
    #[command(flatten)]
    pub(crate) dry: DryRunFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for SystemGc {
    const META: Meta = Meta::new("system gc").surplus(Surplus::Reported).examples(&[
        ("Collect all garbage now", "encamp system gc"),
        ("Wait for the end, and print what was deleted", "encamp system gc -wait"),
        ("Show what would be deleted and kept, and why", "encamp system gc -dry-run"),
        ("Show what the periodic runs would delete in four hours", "encamp system gc -dry-run -periodic -in 4h"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if let Some(name) = self.dry.misplaced() {
            return context.usage_error(&format!("{name} can only be used together with -dry-run"));
        }
        if self.dry.dry_run {
            if self.wait {
                return context.usage_error("-wait and -dry-run exclude each other");
            }
            return context.attempt(|context| self.dry.run(&self.general, context));
        }
        if self.dry.json && !self.wait {
            return context.usage_error("-json can only be used together with -dry-run or -wait");
        }
        context.connected(&self.general, |c, context| {
            if self.wait {
                return self.follow(c, context);
            }
            let done = c.wait(c.client.collect_garbage());
            done.context("Error running system garbage-collection")?;
            Ok(0)
        })
    }
}

/// The JSON output of a run.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Report<'a> {
    schema_version: u32,
    #[serde(flatten)]
    report: &'a GcReport,
}

impl SystemGc {
    /// Waits for the end of the run.
    fn follow(&self, c: &Connection, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let wait = u64::try_from(self.wait_timeout).map(Duration::from_nanos).unwrap_or_default();
        let done = c.wait(c.client.collect_garbage_and_wait(wait));
        let (report, _) = done.context("Error running system garbage-collection")?;
        let Some(report) = report else {
            return Err(CommandError::new(
                "Error running system garbage-collection: it was started, but these servers do not report its end",
            ));
        };
        if self.dry.json {
            let output = Report { schema_version: 1, report: &report };
            context.print_json(&output)?;
        } else {
            context.ui.output(&gc::report(&report));
        }
        Ok(0)
    }
}

/// Reconcile the summaries of all jobs
///
/// Recomputes the summaries of all registered jobs from their allocations.
#[derive(Debug, clap::Parser)]
pub struct SystemReconcileSummaries {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for SystemReconcileSummaries {
    const META: Meta = Meta::new("system reconcile summaries")
        .surplus(Surplus::Reported)
        .examples(&[("Recompute the summaries of all jobs", "encamp system reconcile summaries")]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, _| {
            let done = c.wait(c.client.reconcile_summaries());
            done.context("Error running system summary reconciliation")?;
            Ok(0)
        })
    }
}
