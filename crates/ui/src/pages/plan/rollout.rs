//! The predicted rollout of a plan.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::Deserialize;

use crate::pages::questions::ask::table;
use crate::parts::command::answer;
use crate::parts::time;

answer! {
    /// Times are nanoseconds since the registration, and the shortest possible ones.
    pub(crate) struct Rollout {
        steps: Vec<Step>, end: End, duration: i64, counts: BTreeMap<String, u64>, lowest: BTreeMap<String, u64>,
        peak: Need, before: Need, manual_health: bool,
    }

    struct Step { at: i64, cause: String, groups: BTreeMap<String, Counts> }

    struct Counts { placed: u64, stopped: u64, updated: u64, unplaced: u64, old: u64, healthy: u64 }

    struct End { status: Status, #[serde(default)] description: String }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Complete,
    Failed,
    Unplaced,
    Waiting,
}

answer! {
    /// What all allocations of the job hold.
    struct Need { allocations: u64, cpu = "CPU": u64, memory = "MemoryMB": u64 }
}

/// Why the rollout does not come to its end, if it does not.
pub(crate) fn problem(rollout: &Rollout) -> Option<&'static str> {
    match rollout.end.status {
        Status::Complete => None,
        Status::Failed => Some("the deployment would fail"),
        Status::Unplaced => Some("a later step of the rollout lacks capacity"),
        Status::Waiting => Some("the rollout would wait for an operator"),
    }
}

/// The steps, and what is needed at most.
pub(crate) fn markup(rollout: &Rollout) -> Markup {
    let rows: Vec<(&Step, &String, &Counts)> =
        rollout.steps.iter().flat_map(|s| s.groups.iter().map(move |(group, counts)| (s, group, counts))).collect();
    let columns = ["Time", "Cause", "Group", "Place#", "Stop#", "Update#", "Unplaced#", "Serving afterwards"];
    let lowest: Vec<String> = rollout
        .lowest
        .iter()
        .map(|(group, n)| format!("{group} {n} of {}", rollout.counts.get(group).unwrap_or(n)))
        .collect();
    html! {
        (table("Rollout", &columns, &rows, "Nothing is rolled out.", |(step, group, c)| vec![
            html! { (time::duration(step.at)) },
            html! { (step.cause.replace('-', " ")) },
            html! { (group) },
            html! { (c.placed) }, html! { (c.stopped) }, html! { (c.updated) }, html! { (c.unplaced) },
            html! { (c.old + c.healthy) " of " (rollout.counts.get(*group).copied().unwrap_or_default()) },
        ]))
        p {
            "The rollout takes at least " (time::duration(rollout.duration)) "."
            @if !lowest.is_empty() { " Fewest serving at any time: " (lowest.join(", ")) "." }
            " Needed at most: " (need(&rollout.peak)) "; before: " (need(&rollout.before)) "."
            @if !rollout.end.description.is_empty() { " " (rollout.end.description) }
            @if rollout.manual_health { " An operator has to tell which allocations are healthy." }
        }
    }
}

fn need(need: &Need) -> String {
    format!("{} allocations, {} MHz, {} MiB", need.allocations, need.cpu, need.memory)
}
