//! `rebalance run -dry-run`: what a run would do now.

use super::super::file::Content;
use super::OnDrift;
use super::driver::checked;
use super::log;
use super::remote::Remote;
use crate::context::Context;
use crate::error::CommandResult;
use encamp_plan::rebalance::run::check::{catch_up, rest};
use encamp_plan::rebalance::{Action, follow};

/// Prints the actions that are left, and how the cluster differs from what the plan assumes. The exit code is 1 if it
/// does.
pub(super) fn dry_run(
    content: &Content,
    remote: &Remote<'_>,
    on_drift: OnDrift,
    context: &mut Context<'_, '_>,
) -> CommandResult<u8> {
    let (mut state, notes, now) = remote.state()?;
    notes.iter().for_each(|note| context.ui.warn(note));
    let mut progress = content.run.as_ref().map(|run| run.progress.clone()).unwrap_or_default();
    let plan = &content.plan;
    catch_up(plan, &mut progress, &state);
    let mut differences = checked(content, &progress, &state, now).differences;
    while let Some(left) = rest(plan, &progress, &state) {
        context.ui.output(&format!("Step {} of {}:", progress.steps.saturating_add(1), plan.steps.len()));
        left.actions.iter().for_each(|action| context.ui.output(&format!("  {}", described(action))));
        progress.finish_step();
        if differences.is_empty()
            && let Ok(followed) = follow(&state, &left, now)
        {
            state = followed.state;
            differences = checked(content, &progress, &state, now).differences;
        }
    }
    if differences.is_empty() {
        context.ui.output("The cluster is as the plan assumes.");
        return Ok(0);
    }
    let then = match on_drift {
        OnDrift::Stop => "the run would end there",
        OnDrift::Replan => "the rest would be planned again",
    };
    let texts = log::listed(&differences);
    context.ui.error(&format!("The cluster differs from what the plan assumes: {texts}; {then}."));
    Ok(1)
}

/// An action in words.
fn described(action: &Action) -> String {
    match action {
        Action::MarkIneligible { node } => format!("mark node {} ineligible", node.name),
        Action::MarkEligible { node } => format!("mark node {} eligible", node.name),
        Action::StopAllocation { allocation } => format!("stop {} on {}", allocation.name, allocation.node.name),
        Action::AwaitHealthy => "wait until the replacements are healthy".into(),
    }
}
