//! The lines that a run prints: what it did, when, and how it ended.

use std::fmt;
use std::path::Path;

use crate::context::{Context, clock};
use crate::render::page;
use crate::render::values::{self, counted};
use encamp_plan::rebalance::RebalancePlan;
use encamp_plan::rebalance::run::{Ending, Progress};

/// The maximum number of differences that are listed.
const MOST_LISTED: usize = 5;

/// A line about the whole run.
pub(super) fn step(text: &str, context: &mut Context<'_, '_>) {
    let now = values::time(clock(), &context.env.zone());
    context.ui.output_markup(&format!("[bold]{}[reset]", page::sentence(&format!("==> {now}: {text}"))));
    context.ui.flush();
}

/// A line about one action.
pub(super) fn action(text: &str, context: &mut Context<'_, '_>) {
    let now = values::time(clock(), &context.env.zone());
    context.ui.output(&page::sentence(&format!("    {now}: {text}")));
    context.ui.flush();
}

/// The text at the beginning of a step; `None` after the last one.
pub(super) fn beginning(plan: &RebalancePlan, progress: &Progress) -> Option<String> {
    let step = plan.steps.get(progress.steps)?;
    let (number, steps) = (progress.steps.saturating_add(1), plan.steps.len());
    let resumed = if progress.actions > 0 { ", resumed" } else { "" };
    Some(format!("Step {number} of {steps}: {}{resumed}", counted(step.moves.len(), "move", "moves")))
}

/// The end of a run of so many steps that frees so many nodes.
pub(super) fn end(
    ending: &Ending,
    progress: &Progress,
    (steps, freed): (usize, usize),
    path: &Path,
    context: &mut Context<'_, '_>,
) {
    let moves = counted(progress.moved, "move", "moves");
    let again = format!("The next run goes on from here: encamp rebalance run {}", path.display());
    match ending {
        Ending::Finished if freed == 0 => step(&format!("The rebalance is finished: {moves}"), context),
        Ending::Finished => {
            let nodes = counted(freed, "node is empty", "nodes are empty");
            step(&format!("The rebalance is finished: {moves}; {nodes}"), context);
        }
        Ending::Stopped(reason) => {
            let number = progress.steps.saturating_add(1).min(steps);
            context.ui.error(&format!(
                "The run ended at step {number} of {steps}, after {moves}: {reason}\nNo node is left ineligible. {again}"
            ));
        }
        Ending::Interrupted => context.ui.error(&format!("Interrupted. No node is left ineligible. {again}")),
        Ending::Aborted => context.ui.output("No node is left ineligible by this plan."),
    }
}

/// The first of some texts, and how many more there are.
pub(super) fn listed<T: fmt::Display>(texts: &[T]) -> String {
    let mut out = texts.iter().take(MOST_LISTED).map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let more = texts.len().saturating_sub(MOST_LISTED);
    if more > 0 {
        out.push_str(&format!("; and {more} more"));
    }
    out
}
