//! `rebalance show`: prints a plan file.

use super::file::{self, Content, RunRecord};
use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::CompleteWith;
use crate::context::Context;
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::general::ColourFlags;
use crate::render::json::indented;
use crate::render::rebalance::{View, goal, print};
use crate::render::table::{Form, cell, table};
use crate::render::values;
use encamp_model::quoted;

/// Show a plan file of a rebalance
///
/// Prints the plan in a file that rebalance -out wrote: what it was made from, the moves and steps, figures before and
/// after, and how far a run of it is. Contacts no cluster.
#[derive(Debug, clap::Parser)]
pub struct RebalanceShow {
    /// Print everything as JSON, see docs/reference/rebalance-file.schema.json
    #[arg(long)]
    pub json: bool,
    /// List all moves
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) colours: ColourFlags,
    #[arg(value_name = "file", add = CompleteWith::ANY_FILE)]
    pub(crate) path: String,
}

impl Run for RebalanceShow {
    const META: Meta = Meta::new("rebalance show").paged().offline_examples(&[
        ("Show a plan, and how far its run is", "encamp rebalance show rebalance.json"),
        ("Print a plan as JSON", "encamp rebalance show -json rebalance.json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let done = self.show(context);
        context.end(done.map(|()| 0))
    }
}

impl RebalanceShow {
    fn show(&self, context: &mut Context<'_, '_>) -> CommandResult<()> {
        let read = file::read(&context.env.directory.join(&self.path));
        let content = read.context(format!("Error reading plan file {}", quoted(&self.path)))?;
        if self.json {
            context.ui.output(&indented(&content).map_err(CommandError::new)?);
            return Ok(());
        }
        let zone = context.env.zone();
        context.ui.output(&table(&facts(&content, |time| values::time(time, &zone)), Form::KeyValue));
        context.ui.output("");
        print(context.ui, View { request: &content.request, plan: &content.plan }, self.verbose);
        Ok(())
    }
}

fn facts(content: &Content, time: impl Fn(i64) -> String) -> Vec<String> {
    let state = &content.state;
    let source = match (&state.snapshot, &state.address) {
        (Some(file), _) => format!("snapshot {file}"),
        (None, Some(address)) => format!("cluster {address}"),
        (None, None) => "not recorded".into(),
    };
    let mut rows = vec![
        ("Goal", goal(&content.request)),
        ("Created", time(content.created)),
        ("State", format!("{source} at index {}, {}", state.index, time(state.time))),
        ("Program", format!("encamp v{}", content.program)),
    ];
    match &content.run {
        None => rows.push(("Run", "not begun".into())),
        Some(run) => rows.extend(progress(run, content.plan.steps.len(), &time)),
    }
    rows.into_iter().map(|(name, value)| format!("{name}|{}", cell(&value))).collect()
}

/// How far a run is.
fn progress(run: &RunRecord, steps: usize, time: &impl Fn(i64) -> String) -> Vec<(&'static str, String)> {
    let done = &run.progress;
    let reason = run.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let mut rows = vec![
        ("Run", format!("{}, {}{reason}", run.status.name(), time(run.updated))),
        ("Done", format!("{} of {steps} steps, {} moves", done.steps.min(steps), done.moved)),
    ];
    if done.replans > 0 {
        rows.push(("Planned again", values::counted(done.replans, "time", "times")));
    }
    if !done.marked.is_empty() {
        let names: Vec<&str> = done.marked.iter().map(|n| n.name.as_str()).collect();
        rows.push(("Marked ineligible", names.join(", ")));
    }
    rows
}
