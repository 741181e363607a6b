//! `what-if`: simulates changes of the cluster.

use super::changes::ChangeFlags;
use super::cluster::{ClusterFlags, TimeFlags};
use super::command::Run;
use super::command_meta::Meta;
use super::context::Context;
use super::general::GeneralFlags;
use super::plan_file::RecordedState;
use super::render::html;
use super::render::html::heat::Heat;
use super::render::what_if;
use super::report::ReportFlags;
use encamp_plan::what_if::Outcome;
use encamp_snapshot::live::Detail;

/// Simulate cluster changes and show where allocations go
///
/// Assumes the given changes and processes the evaluations that a server would create, in order of priority, until no
/// work is left. Prints whether allocations would be unplaced or preempted, what happens in each datacenter and node
/// pool, and the jobs with a problem, worst first. The cluster itself is not changed.
///
/// A drain is simulated to its end: service allocations are migrated as their migrate blocks allow, batch allocations
/// are stopped at the deadline, and system allocations are stopped last. Lost nodes stay lost. Jobs are named by ID in
/// the namespace of -namespace, or as ID@NAMESPACE. The same flags on job plan plan a job on the changed cluster.
#[derive(Debug, clap::Parser)]
pub struct WhatIfCommand {
    #[command(flatten)]
    pub(crate) changes: ChangeFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    #[command(flatten)]
    pub(crate) time: TimeFlags,
    /// List all jobs, and why each allocation cannot be placed
    #[arg(long)]
    pub all: bool,
    /// List all allocations, too
    #[arg(long)]
    pub verbose: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) report: ReportFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "args", hide = true)]
    pub(crate) args: Vec<String>,
}

impl Run for WhatIfCommand {
    const META: Meta = Meta::new("what-if")
        .usage_exit(255)
        .paged()
        .exit_status(&[
            (0, "All affected allocations are placed in the end."),
            (1, "Some allocations are unplaced."),
            (255, "An error occurred."),
        ])
        .offline_examples(&[
            (
                "Show where the allocations of a node would go if it were drained",
                "encamp what-if -snapshot fixtures/demo/cluster.json \\
    -drain dc1-general-01",
            ),
            (
                "Show what would happen if a datacenter were lost",
                "encamp what-if -snapshot fixtures/demo/cluster.json -down dc=dc2",
            ),
            (
                "List every job that a lost datacenter affects",
                "encamp what-if -snapshot fixtures/demo/cluster.json -down dc=dc2 -all",
            ),
            (
                "Show whether two more nodes are enough for a larger count",
                "encamp what-if -snapshot fixtures/demo/cluster.json \\
    -add 2:like=dc1-gpu-10 -scale api/server=12",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !self.args.is_empty() {
            return context.usage_error("This command takes no arguments: changes are given as flags");
        }
        if self.changes.is_empty() {
            return context
                .usage_error("No changes given: use at least one of -drain, -down, -add, -scale, -stop, -config");
        }
        // Usage errors are reported before anything is read.
        if let Err(e) = self.changes.read() {
            return context.failure(&e.to_string());
        }
        let env = context.env;
        let loaded = self.cluster.load(&self.general, Detail::Everything, env);
        let cluster = match loaded.and_then(|c| c.as_of(&self.time)) {
            Ok(cluster) => cluster,
            Err(e) => return context.report(&e),
        };
        let taken_at = cluster.taken_at(env);
        let (before, notes, now) = cluster.into_state(self.verbose, env);
        let namespace = self.general.namespace(env).unwrap_or("default");
        let changed = match self.changes.carry_out(&before, namespace, now) {
            Ok(changed) => changed,
            Err(e) => return context.report(&e),
        };
        let (after, outcome) = changed.map_or_else(|| (before.clone(), Outcome::default()), |w| (w.state, w.outcome));
        for note in notes.iter().chain(&outcome.notes) {
            context.ui.warn(note);
        }
        let report = || {
            let address = self.general.api_config(env).address;
            let state = RecordedState::new(taken_at, self.cluster.snapshot.as_deref(), &address);
            let origin = html::Origin::new(state, before.index);
            html::what_if::report(&outcome, &Heat::new(&before, &after), &origin, &notes)
        };
        if let Err(e) = self.report.write(report, env) {
            return context.report(&e);
        }
        if self.json {
            match what_if::json(&outcome) {
                Ok(text) => context.ui.output(&text),
                Err(e) => return context.failure(&format!("Error formatting the data: {e}")),
            }
        } else {
            let extent = match (self.verbose, self.all) {
                (true, _) => what_if::Extent::Allocations,
                (false, true) => what_if::Extent::Jobs,
                (false, false) => what_if::Extent::Short,
            };
            what_if::print(context.ui, &outcome, extent);
        }
        u8::from(outcome.falls_short())
    }
}
