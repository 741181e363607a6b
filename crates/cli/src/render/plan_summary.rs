//! The one-line summary of a plan, and where its placements go (`docs/spec/cli.md §7.6`).

use std::collections::BTreeMap;

use super::page;
use super::table::{Form, cell, headed, table};
use encamp_model::{DesiredUpdates, JobPlanResponse, PlanRejection, short_id};
use encamp_plan::review::{Outcome, Placement};
use encamp_plan::tally::{GroupTally, Launched, Next, Step, Tally};

/// The maximum number of evicted jobs that the summary names.
const NAMED: usize = 3;
/// From this number on, placements are counted by node, unless all are asked for.
const MANY: usize = 20;

/// How serious a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Allocations are only placed.
    Harmless,
    /// Allocations are stopped, replaced or evicted.
    Disruptive,
    /// Something cannot be placed, or servers would reject a part.
    Failing,
}

impl Severity {
    /// The tags of its colour.
    pub fn tags(self) -> &'static str {
        match self {
            Severity::Harmless => "[bold][green]",
            Severity::Disruptive => "[bold][yellow]",
            Severity::Failing => "[bold][red]",
        }
    }
}

/// How many allocations a plan creates, changes and stops, over all groups.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlanCounts {
    /// New allocations besides canaries.
    pub create: u64,
    /// Replaced because of an update.
    pub replace: u64,
    /// Updated while they run on.
    pub in_place: u64,
    /// New allocations of a version that waits for its promotion.
    pub canary: u64,
    /// Replaced because they are migrated.
    pub migrate: u64,
    /// Stopped.
    pub stop: u64,
    /// Missing because no node takes them.
    pub unplaced: u64,
    /// Allocations of other jobs that are evicted.
    pub evicted: u64,
    /// New allocations that servers would reject.
    pub rejected: u64,
}

impl PlanCounts {
    /// The counts of a plan.
    pub fn of(plan: &JobPlanResponse) -> PlanCounts {
        let sum = |part: fn(&DesiredUpdates) -> u64| {
            let updates = plan.annotations.iter().flat_map(|a| a.desired_tg_updates.values());
            updates.map(part).fold(0_u64, u64::saturating_add)
        };
        let failed = plan.failed_tg_allocs.values().map(|m| m.failures().unsigned_abs());
        PlanCounts {
            create: sum(|u| u.place),
            replace: sum(|u| u.destructive_update),
            in_place: sum(|u| u.in_place_update),
            canary: sum(|u| u.canary),
            migrate: sum(|u| u.migrate),
            stop: sum(|u| u.stop),
            unplaced: failed.fold(0, u64::saturating_add),
            evicted: plan.annotations.as_ref().map_or(0, |a| a.preempted_allocs.len() as u64),
            rejected: plan.plan_rejections.iter().map(PlanRejection::allocations).fold(0, u64::saturating_add),
        }
    }
}

/// The summary of a plan, and how serious it is.
pub fn summary(tally: &Tally) -> (String, Severity) {
    let (text, severity) = answer(tally);
    (format!("Plan: {text}"), severity)
}

/// What a plan does, the worst first, and how serious it is.
pub fn answer(tally: &Tally) -> (String, Severity) {
    let severity = severity(tally);
    let now = changes(tally);
    let text = match tally.launched {
        Some(launched) => {
            let when = match launched {
                Launched::Periodically => "at each launch",
                Launched::OnDispatch => "at each dispatch",
            };
            let then = if now.is_empty() { "nothing to place".to_string() } else { now.join(", ") };
            format!("nothing to place now; {when}, {then}")
        }
        None => {
            let later = later(tally);
            let none = if later.is_empty() { "no allocation changes" } else { "no allocation changes now" };
            let now = if now.is_empty() { none.to_string() } else { now.join(", ") };
            std::iter::once(now).chain(later).collect::<Vec<_>>().join("; ")
        }
    };
    (text, severity)
}

fn severity(tally: &Tally) -> Severity {
    let bad = tally.sum(|g| g.unplaced.saturating_add(g.unreplaced).saturating_add(g.stuck).saturating_add(g.rejected));
    let changed = |g: &GroupTally| {
        let now = g.replaced.saturating_add(g.stopped).saturating_add(g.disconnected);
        if g.next == Next::Never { now } else { now.saturating_add(g.outdated) }
    };
    let touched = if tally.launched.is_some() { 0 } else { tally.sum(changed) };
    match () {
        () if bad > 0 => Severity::Failing,
        () if touched > 0 || tally.evictions() > 0 => Severity::Disruptive,
        () => Severity::Harmless,
    }
}

/// What the registration does at once. A job that is launched has no allocations of its own.
fn changes(tally: &Tally) -> Vec<String> {
    let mut parts = Vec::new();
    let mut count = |n: u64, one: &str, many: &str| {
        if n > 0 {
            parts.push(format!("{n} {}", if n == 1 { one } else { many }));
        }
    };
    let scheduled = |n: u64| if tally.launched.is_some() { 0 } else { n };
    count(tally.sum(|g| g.unplaced), "cannot be placed", "cannot be placed");
    let kept = scheduled(tally.sum(|g| g.unreplaced));
    count(kept, "cannot be replaced and keeps running", "cannot be replaced and keep running");
    count(tally.sum(|g| g.stuck), "cannot be replaced later", "cannot be replaced later");
    let rejected = tally.sum(|g| g.rejected);
    count(rejected, "would be rejected by the servers", "would be rejected by the servers");
    let evicted = format!("evicted ({})", evicted(tally));
    count(tally.evictions(), &evicted, &evicted);
    count(scheduled(tally.sum(|g| g.stopped)), "to stop", "to stop");
    count(scheduled(tally.sum(|g| g.disconnected)), "to become unknown", "to become unknown");
    count(scheduled(tally.sum(|g| g.replaced)), "to replace", "to replace");
    count(scheduled(tally.sum(|g| g.updated)), "to update in place", "to update in place");
    count(tally.sum(|g| g.canaries), "canary to place", "canaries to place");
    count(tally.sum(|g| g.placed), "to place", "to place");
    let later = scheduled(tally.sum(|g| g.rescheduled_later));
    count(later, "to reschedule later", "to reschedule later");
    parts
}

/// The jobs that lose allocations.
fn evicted(tally: &Tally) -> String {
    let named: Vec<&str> = tally.evicted.keys().take(NAMED).map(String::as_str).collect();
    let more = match tally.evicted.len().saturating_sub(NAMED) {
        0 => String::new(),
        1 => " and 1 more job".into(),
        more => format!(" and {more} more jobs"),
    };
    format!("{}{more}", named.join(", "))
}

/// What happens to the allocations that are still of older versions.
fn later(tally: &Tally) -> Vec<String> {
    let mut outdated: BTreeMap<Next, u64> = BTreeMap::new();
    for group in tally.groups.values().filter(|g| g.outdated > g.stuck) {
        let n = outdated.entry(group.next).or_default();
        *n = n.saturating_add(group.outdated.saturating_sub(group.stuck));
    }
    let pace = |n: u64, Step(step): Step| {
        let pace = if step > 0 && step < n { format!(", {step} at a time") } else { String::new() };
        format!("{pace}{}", if tally.simulated { "" } else { ", if the capacity suffices" })
    };
    let text = |(next, n): (Next, u64)| match next {
        Next::Steps(step) => format!("then {n} to replace{}", pace(n, step)),
        Next::Promotion { automatic, step } => {
            let promotion = if automatic { "automatic promotion" } else { "promotion" };
            format!("after the {promotion}, {n} to replace{}", pace(n, step))
        }
        Next::Placement => format!("{n} to replace once the unplaced ones run"),
        Next::Resumption => format!("{n} to replace once the deployment is resumed"),
        Next::Never => format!("{n} of older versions {}", if n == 1 { "stays" } else { "stay" }),
    };
    outdated.into_iter().map(text).collect()
}

/// The summary with the tags of its colour.
pub fn markup(tally: &Tally) -> String {
    markup_if(tally, None)
}

/// The same with the condition under which it holds.
pub fn markup_if(tally: &Tally, assumed: Option<&str>) -> String {
    let (text, severity) = summary(tally);
    let assumed = assumed.map(|condition| format!(", {condition}")).unwrap_or_default();
    format!("{}{}[reset]", severity.tags(), page::sentence(&format!("{text}{assumed}")))
}

/// The heading of a table of placements.
pub const PLACEMENT: &str = "Allocation|Node|Node ID|Replaces|Canary";

/// The row of a placement below [`PLACEMENT`]; `id` shortens IDs.
pub fn placement(p: &Placement, id: impl Fn(&str) -> &str) -> String {
    let replaces = if p.previous.is_empty() { "-" } else { id(&p.previous) };
    let canary = if p.canary { "yes" } else { "no" };
    format!("{}|{}|{}|{replaces}|{canary}", cell(&p.name), cell(&p.node_name), id(&p.node_id))
}

/// Where the new allocations run: each of them, or the number on each node if there are many.
pub fn placements(outcome: &Outcome, all: bool) -> String {
    if outcome.placements.is_empty() {
        return "No allocation is placed".into();
    }
    if all || outcome.placements.len() <= MANY {
        let rows = outcome.placements.iter().map(|p| placement(p, short_id));
        return table(&headed(PLACEMENT, rows), Form::List);
    }
    let mut nodes: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    outcome.placements.iter().for_each(|p| *nodes.entry((&p.node_name, &p.node_id)).or_default() += 1);
    let mut rows: Vec<((&str, &str), usize)> = nodes.into_iter().collect();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let shown = rows.iter().take(MANY).map(|((name, id), n)| format!("{}|{}|{n}", cell(name), short_id(id)));
    let mut text = table(&headed("Node|Node ID|New allocations", shown), Form::Figures);
    let rest = rows.len().saturating_sub(MANY);
    if rest > 0 {
        let n: usize = rows.iter().skip(MANY).map(|(_, n)| n).sum();
        text.push_str(&format!("\nand {n} on {rest} more nodes; use -verbose to list every placement"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(group: GroupTally, evicted: &[(&str, u64)]) -> Tally {
        Tally {
            groups: [("web".to_string(), group)].into(),
            evicted: evicted.iter().map(|(job, n)| (job.to_string(), *n)).collect(),
            launched: None,
            simulated: true,
        }
    }

    #[test]
    fn the_worst_comes_first_and_decides_how_serious_a_plan_is() {
        let placed = GroupTally { placed: 2, canaries: 1, ..GroupTally::default() };
        let got = summary(&tally(placed.clone(), &[]));
        assert_eq!(got, ("Plan: 1 canary to place, 2 to place".to_string(), Severity::Harmless));
        let step = Next::Promotion { automatic: false, step: Step(2) };
        let all = GroupTally { replaced: 2, updated: 4, stopped: 5, outdated: 9, next: step, ..placed.clone() };
        let got = summary(&tally(all, &[("a", 1), ("b", 2), ("c", 1), ("d", 1)]));
        let want = "Plan: 5 evicted (a, b, c and 1 more job), 5 to stop, 2 to replace, 4 to update in place, 1 canary \
                    to place, 2 to place; after the promotion, 9 to replace, 2 at a time";
        assert_eq!(got, (want.to_string(), Severity::Disruptive));
        let failing = GroupTally { unplaced: 2, unreplaced: 1, ..placed };
        let got = summary(&tally(failing, &[]));
        let want = "Plan: 2 cannot be placed, 1 cannot be replaced and keeps running, 1 canary to place, 2 to place";
        assert_eq!(got, (want.to_string(), Severity::Failing));
    }

    #[test]
    fn what_happens_later_is_told() {
        let later = |next, outdated| answer(&tally(GroupTally { outdated, next, ..GroupTally::default() }, &[])).0;
        let now = "no allocation changes now; ";
        assert_eq!(later(Next::Steps(Step(1)), 4), format!("{now}then 4 to replace, 1 at a time"));
        assert_eq!(later(Next::Steps(Step(4)), 4), format!("{now}then 4 to replace"));
        assert_eq!(later(Next::Placement, 2), format!("{now}2 to replace once the unplaced ones run"));
        assert_eq!(later(Next::Never, 1), format!("{now}1 of older versions stays"));
        assert_eq!(answer(&Tally::default()), ("no allocation changes".to_string(), Severity::Harmless));
        let launched = Tally { launched: Some(Launched::Periodically), ..Tally::default() };
        assert_eq!(answer(&launched).0, "nothing to place now; at each launch, nothing to place");
    }

    #[test]
    fn many_placements_are_counted_by_node() {
        let placement = |n: usize| Placement {
            name: format!("a.b[{n}]"),
            node_name: format!("n{}", n % 30),
            node_id: format!("{:08}-x", n % 30),
            ..Placement::default()
        };
        let outcome = |n| Outcome { placements: (0..n).map(placement).collect(), ..Outcome::default() };
        let few = placements(&outcome(1), false);
        assert_eq!(few, "Allocation  Node  Node ID   Replaces  Canary\na.b[0]      n0    00000000  -         no");
        let many = placements(&outcome(31), false);
        assert!(many.starts_with("Node  Node ID   New allocations\nn0    00000000                2\n"), "{many}");
        assert!(many.ends_with("and 10 on 10 more nodes; use -verbose to list every placement"), "{many}");
        assert_eq!(placements(&outcome(31), true).lines().count(), 32);
        assert_eq!(placements(&outcome(0), true), "No allocation is placed");
    }
}
