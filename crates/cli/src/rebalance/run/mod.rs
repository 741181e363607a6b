//! `rebalance run`: carries a plan out on a running cluster, step by step (`docs/spec/cli.md §23`).
//!
//! What is done next is decided by [`encamp_plan::rebalance::run`]. [`driver`]: the loop around it.
//! [`dry_run`]: what it would do. [`remote`]: what it reads and changes, requests of the public API only. [`log`]: the
//! lines that it prints.

mod driver;
mod dry_run;
mod log;
mod remote;

use std::path::PathBuf;
use std::time::Duration;

use super::file::{self, Content, Lock};
use crate::cluster::FetchFlags;
use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::CompleteWith;
use crate::connection::Connection;
use crate::context::Context;
use crate::error::{CommandResult, ErrorContext};
use crate::flags::parse_wait;
use crate::general::GeneralFlags;
use driver::Driver;
use encamp_model::quoted;
use encamp_plan::rebalance::run::{Ending, RunLimits};
use remote::Remote;

/// The exit code of a run that ended before its last step.
const STOPPED: u8 = 1;
/// The exit code of a run that could not mark all nodes eligible again.
pub(super) const STILL_MARKED: u8 = 2;
/// The exit code of a run that a signal ended.
const INTERRUPTED: u8 = 130;
/// The default of `-step-timeout`.
const STEP_TIMEOUT: Duration = Duration::from_secs(600);

/// What a run does when the cluster differs from what the plan assumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum OnDrift {
    /// It ends.
    Stop,
    /// It plans the rest again.
    #[default]
    Replan,
}

/// Carry out a plan of a rebalance
///
/// Carries out the plan in a file that rebalance -out wrote, step by step: marks nodes ineligible, stops allocations,
/// waits until their replacements are healthy, and marks the nodes eligible again. Before each step, the cluster is
/// read and the step is simulated: if the cluster differs from what the plan assumes, the rest is planned again, or the
/// run ends (-on-drift=stop).
///
/// The file records the progress before each change. However a run ends (error, timeout, Ctrl-C), it marks eligible
/// again what it marked ineligible; if it was killed, the next run of the same file resumes, and -abort only marks the
/// nodes eligible again. Nodes that were ineligible before the run stay so.
#[derive(Debug, clap::Parser)]
pub struct RebalanceRun {
    /// What to do when the cluster differs from what the plan assumes: replan, or stop
    #[arg(long, value_name = "action", value_enum, default_value_t = OnDrift::Replan)]
    pub on_drift: OnDrift,
    /// How long a step may wait until its replacements are healthy. Default: 10m
    #[arg(long, value_name = "duration", value_parser = parse_wait)]
    pub step_timeout: Option<Duration>,
    /// Only mark eligible again the nodes that earlier runs of the file left ineligible
    #[arg(long)]
    pub abort: bool,
    /// Compare the cluster with the plan and print what would be done, without changing anything
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "file", add = CompleteWith::ANY_FILE)]
    pub(crate) path: String,
}

impl Run for RebalanceRun {
    const META: Meta = Meta::new("rebalance run")
        .usage_exit(255)
        .exit_status(&[
            (0, "All steps are done, or -abort or -dry-run succeeded."),
            (1, "The run ended before its last step, or -dry-run found differences. No node is left ineligible."),
            (2, "Nodes are still marked ineligible: run again with -abort once the cluster can be reached."),
            (130, "A signal ended the run. No node is left ineligible."),
            (255, "An error occurred before anything was changed."),
        ])
        .examples(&[
            ("Show what a plan would do now", "encamp rebalance run -dry-run rebalance.json"),
            (
                "Carry a plan out, and end if the cluster has changed",
                "encamp rebalance run -on-drift stop rebalance.json",
            ),
            ("Mark eligible again what a killed run left ineligible", "encamp rebalance run -abort rebalance.json"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.abort && self.dry_run {
            return context.usage_error("Use only one of -abort and -dry-run");
        }
        context.connected(&self.general, |connection, context| {
            let path = context.env.directory.join(&self.path);
            let reading = || format!("Error reading plan file {}", quoted(&self.path));
            // The lock first: what is read under it is what the last run wrote.
            let lock = if self.dry_run { None } else { Some(Lock::take(&path).context(reading())?) };
            let content: Content = file::read(&path).context(reading())?;
            let done = self.carry_out(connection, path, content, context);
            drop(lock);
            done
        })
    }
}

impl RebalanceRun {
    fn carry_out(
        &self,
        connection: &Connection,
        path: PathBuf,
        content: Content,
        context: &mut Context<'_, '_>,
    ) -> CommandResult<u8> {
        if content.is_carried_out() && !self.abort {
            context.ui.output("The plan has been carried out: nothing is left to do.");
            return Ok(0);
        }
        let remote = Remote { connection, fetch: &self.fetch, env: context.env };
        if self.dry_run {
            return dry_run::dry_run(&content, &remote, self.on_drift, context);
        }
        let mut driver = Driver::new(self, remote, path, content);
        if self.abort {
            driver.abort();
        }
        Ok(match driver.drive(context)? {
            Ending::Finished | Ending::Aborted => 0,
            Ending::Stopped(_) => STOPPED,
            Ending::Interrupted => INTERRUPTED,
        })
    }

    /// The rules of the run.
    fn limits(&self) -> RunLimits {
        let timeout = self.step_timeout.unwrap_or(STEP_TIMEOUT);
        RunLimits { step_timeout: i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX) }
    }
}
