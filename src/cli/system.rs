//! `system gc`, `system reconcile summaries` (`docs/spec/cli.md §14`).

use super::command::{Registry, Run};
use super::context::Context;
use super::error::ErrorContext;
use super::general::GeneralFlags;

/// Adds the commands.
pub(super) fn register(registry: &mut Registry) {
    registry.add::<SystemGc>("system gc", None, 1);
    registry.add::<SystemReconcileSummaries>("system reconcile summaries", None, 1);
}

/// Run garbage collection
///
/// Starts garbage collection of all terminal evaluations, allocations, jobs and deployments and of down nodes,
/// regardless of their age.
#[derive(Debug, clap::Parser)]
pub struct SystemGc {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(hide = true)]
    pub(crate) optional_args: Vec<String>,
}

impl Run for SystemGc {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        complain(context, &self.optional_args);
        context.connected(&self.general, |c, _| {
            let done = c.wait(c.client.collect_garbage());
            done.context("Error running system garbage-collection")?;
            Ok(0)
        })
    }
}

/// Arguments are reported and then ignored: that is how these commands are defined.
fn complain(context: &mut Context<'_, '_>, args: &[String]) {
    if !args.is_empty() {
        context.usage_error("This command takes no arguments");
    }
}

/// Reconcile the summaries of all jobs
///
/// Recomputes the summaries of all registered jobs from their allocations.
#[derive(Debug, clap::Parser)]
pub struct SystemReconcileSummaries {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(hide = true)]
    pub(crate) optional_args: Vec<String>,
}

impl Run for SystemReconcileSummaries {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        complain(context, &self.optional_args);
        context.connected(&self.general, |c, _| {
            let done = c.wait(c.client.reconcile_summaries());
            done.context("Error running system summary reconciliation")?;
            Ok(0)
        })
    }
}
