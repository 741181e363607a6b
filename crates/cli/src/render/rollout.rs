//! The predicted rollout of a job: its steps as a table and a timeline (`docs/spec/cli.md §7.8`).

use serde_json::Value;

use super::json::versioned;
use super::page;
use super::table::{Form, cell, headed, table};
use super::values::{counted, megabytes, megahertz};
use encamp_model::format_duration;
use encamp_server::rollout_preview::{Cause, End, GroupStep, Need, Rollout, Step};

/// The widest bar of the timeline, in characters.
const BAR: usize = 20;
/// From this number on, steps in the middle are left out, unless all are asked for.
const MANY: usize = 40;
const HEAD: &str = "Time|Cause|Group|Place|Stop|Update|Serving|After the step";

/// The prediction as JSON.
///
/// # Errors
/// A number cannot be written.
pub fn value(rollout: &Rollout) -> serde_json::Result<Value> {
    versioned(rollout)
}

/// The prediction as text with tags of colours. `all`: no step is left out.
pub fn markup(rollout: &Rollout, all: bool) -> String {
    let mut lines = vec!["[bold]Rollout[reset]".to_string()];
    if rollout.steps.is_empty() {
        lines.push("Nothing changes.".into());
        return lines.join("\n");
    }
    let largest =
        rollout.steps.iter().flat_map(|s| s.groups.values()).map(GroupStep::running).max().unwrap_or(0).max(1);
    let left_out = if all { 0 } else { rollout.steps.len().saturating_sub(MANY) };
    let first = rollout.steps.len().saturating_sub(left_out).div_ceil(2);
    let shown = rollout.steps.iter().enumerate().filter(|(i, _)| left_out == 0 || *i < first || *i >= first + left_out);
    let rows = shown.flat_map(|(_, step)| rows(step, rollout, largest));
    lines.push(table(&headed(HEAD, rows), Form::Figures));
    if left_out > 0 {
        lines.push(format!("{left_out} steps in the middle are left out; use -verbose to list every step"));
    }
    lines.push("After the step: = old, # new and healthy, + new and not healthy yet".into());
    lines.push(String::new());
    lines.extend(summary(rollout));
    lines.join("\n")
}

/// The rows of a step: one per group, and one per job that is evicted.
fn rows(step: &Step, rollout: &Rollout, largest: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    let mut lead = format!("{}|{}", format_duration(step.at), cause(step.cause));
    for (name, g) in &step.groups {
        let count = rollout.counts.get(name).copied().unwrap_or(0);
        let placed = if g.canaries > 0 { format!("{} (canary)", g.placed) } else { g.placed.to_string() };
        let unplaced = if g.unplaced > 0 { format!(", {} unplaced", g.unplaced) } else { String::new() };
        let serving = format!("{} of {count}{unplaced}", g.serving());
        let bar = bar(g, largest);
        rows.push(format!("{lead}|{}|{placed}|{}|{}|{serving}|{bar}", cell(name), g.stopped, g.updated));
        lead = "|".into();
    }
    for e in &step.evicted {
        let what = counted(e.allocations, "allocation", "allocations");
        rows.push(format!("{lead}|evicts {what} of {}", cell(&e.job_id)));
        lead = "|".into();
    }
    rows
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Registration => "registration",
        Cause::Health => "health",
        Cause::Promotion => "promotion",
        Cause::ManualPromotion => "promotion by an operator",
        Cause::Capacity => "capacity",
        Cause::Rollback => "rollback",
    }
}

/// What runs, one character per allocation, or per share of the largest group.
fn bar(g: &GroupStep, largest: usize) -> String {
    let share = |n: usize| if largest <= BAR { n } else { (n * BAR).div_ceil(largest) };
    [("=", g.old), ("#", g.healthy), ("+", g.starting)].map(|(sign, n)| sign.repeat(share(n))).concat()
}

/// The sentences below the table.
fn summary(rollout: &Rollout) -> Vec<String> {
    let takes = format_duration(rollout.duration);
    let (tags, end) = match &rollout.end {
        End::Complete if rollout.deployment => ("[green]", format!("The rollout takes at least {takes}.")),
        End::Complete => ("[green]", "All of it happens at once: the servers make no deployment.".to_string()),
        End::Failed(why) => ("[red]", format!("The deployment fails after {takes}: {why}.")),
        End::Unplaced => ("[red]", format!("The rollout stops after {takes}: allocations cannot be placed.")),
        End::Waiting(why) => ("[yellow]", format!("The rollout does not end: {why}.")),
    };
    let mut lines = vec![format!("[bold]{tags}{}[reset]", page::sentence(&end))];
    let lowest = rollout.lowest.iter().filter(|(name, _)| rollout.counts.contains_key(*name));
    let lowest: Vec<String> = lowest
        .map(|(name, n)| format!("{} {n} of {}", cell(name), rollout.counts.get(name).copied().unwrap_or(0)))
        .collect();
    if !lowest.is_empty() {
        lines.push(page::sentence(&format!("Fewest serving at any time: {}", lowest.join(", "))));
    }
    lines.push(page::sentence(&format!("Needed at most: {}; before: {}", need(&rollout.peak), need(&rollout.before))));
    if rollout.steps.iter().any(|s| s.cause == Cause::ManualPromotion) {
        let note = "The canaries wait until you run encamp deployment promote; that time is not included.";
        lines.push(page::sentence(note));
    }
    if rollout.manual_health {
        let note = "Allocations are healthy when an operator says so; here, after min_healthy_time.";
        lines.push(page::sentence(note));
    }
    lines
}

fn need(need: &Need) -> String {
    let allocations = counted(need.allocations, "allocation", "allocations");
    format!("{allocations}, {}, {}", megahertz(need.cpu), megabytes(need.memory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn step(at: i64, group: GroupStep) -> Step {
        Step { at, cause: Cause::Health, groups: [("web".to_string(), group)].into(), evicted: Vec::new() }
    }

    fn rollout(steps: Vec<Step>, end: End) -> Rollout {
        Rollout {
            steps,
            end,
            duration: 125_300_000_000,
            deployment: true,
            counts: [("web".to_string(), 3)].into(),
            lowest: [("web".to_string(), 2)].into(),
            before: Need { allocations: 3, cpu: 300, memory: 30 },
            peak: Need { allocations: 4, cpu: 1400, memory: 40 },
            manual_health: false,
        }
    }

    #[test]
    fn steps_are_drawn() {
        let group = GroupStep { placed: 1, stopped: 1, old: 1, healthy: 1, starting: 1, ..GroupStep::default() };
        let text = markup(&rollout(vec![step(0, group.clone()), step(11_250_000_000, group)], End::Complete), false);
        let want = "[bold]Rollout[reset]\n\
                    Time    Cause   Group  Place  Stop  Update  Serving  After the step\n\
                    0s      health  web        1     1       0   2 of 3  =#+\n\
                    11.25s  health  web        1     1       0   2 of 3  =#+\n\
                    After the step: = old, # new and healthy, + new and not healthy yet\n\n\
                    [bold][green]The rollout takes at least 2m5.3s.[reset]\n\
                    Fewest serving at any time: web 2 of 3\n\
                    Needed at most: 4 allocations, 1.4 GHz, 40 MiB; before: 3 allocations, 300 MHz, 30 MiB";
        assert_eq!(text, want);
    }

    #[test]
    fn many_steps_and_many_allocations_are_shortened() {
        let group = GroupStep { placed: 10, old: 50, healthy: 45, starting: 5, ..GroupStep::default() };
        assert_eq!(bar(&group, 100), "==========#########+");
        let long = rollout(vec![step(0, group); 50], End::Complete);
        assert!(markup(&long, false).contains("\n10 steps in the middle are left out"));
        assert_eq!(markup(&long, true).lines().count(), markup(&long, false).lines().count() + 9);
    }

    #[test]
    fn ends_are_told() {
        for (end, expected) in [
            (End::Failed("no health".into()), "[bold][red]The deployment fails after 2m5.3s: no health.[reset]"),
            (End::Unplaced, "[bold][red]The rollout stops after 2m5.3s: allocations cannot be placed.[reset]"),
            (End::Waiting("It is paused".into()), "[bold][yellow]The rollout does not end: It is paused.[reset]"),
        ] {
            let text = markup(&rollout(vec![step(0, GroupStep::default())], end), false);
            assert!(text.contains(expected), "{text}");
        }
        let nothing = Rollout { lowest: BTreeMap::new(), ..rollout(Vec::new(), End::Complete) };
        assert_eq!(markup(&nothing, false), "[bold]Rollout[reset]\nNothing changes.");
    }
}
