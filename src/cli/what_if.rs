//! `what-if`: where allocations go when the cluster changes.

use super::changes::ChangeFlags;
use super::cluster::ClusterFlags;
use super::command::Run;
use super::context::Context;
use super::general::GeneralFlags;
use super::render::what_if;
use encamp_snapshot::live::Detail;

/// Show where allocations would go if the cluster changed
///
/// Assumes the changes given, processes the evaluations that a server would make, in order of priority and until
/// nothing happens any more, and prints which allocations leave their nodes and where they go, what finds no node and
/// why, and what is free on ready nodes before and after. Nothing is changed.
///
/// A drain is followed to its end: services leave as their migrate blocks allow, batch work ends at the deadline,
/// system allocations go last. Nodes that are lost stay lost. Jobs are named by ID in the namespace of -namespace, or
/// ID@NAMESPACE. The same flags on job plan plan a job on the changed cluster.
///
/// The exit code is 0 when everything the changes concern has a node in the end, 1 when something has none, and 255
/// after an error.
#[derive(Debug, clap::Parser)]
pub struct WhatIfCommand {
    #[command(flatten)]
    pub(crate) changes: ChangeFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    /// List every allocation, however many there are
    #[arg(long)]
    pub verbose: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "args", hide = true)]
    pub(crate) args: Vec<String>,
}

impl Run for WhatIfCommand {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !self.args.is_empty() {
            return context.usage_error("This command takes no arguments: changes are given as flags");
        }
        if self.changes.is_empty() {
            return context
                .usage_error("Nothing changes: give at least one of -drain, -down, -add, -scale, -stop, -config");
        }
        // What is written wrongly is said before anything is read.
        if let Err(e) = self.changes.read() {
            return context.failure(&e.to_string());
        }
        let env = context.env;
        let cluster = match self.cluster.load(&self.general, Detail::Everything, env) {
            Ok(cluster) => cluster,
            Err(e) => return context.failure(&e),
        };
        let (before, notes, now) = cluster.into_state(self.verbose, env);
        let namespace = self.general.namespace(env).unwrap_or("default");
        let outcome = match self.changes.carry_out(&before, namespace, now) {
            Ok(changed) => changed.map(|w| w.outcome).unwrap_or_default(),
            Err(e) => return context.failure(&e),
        };
        for note in notes.iter().chain(&outcome.notes) {
            context.ui.warn(note);
        }
        if self.json {
            match what_if::json(&outcome) {
                Ok(text) => context.ui.output(&text),
                Err(e) => return context.failure(&format!("Error formatting the data: {e}")),
            }
        } else {
            what_if::print(context.ui, &outcome, self.verbose);
        }
        u8::from(outcome.falls_short())
    }
}
