//! The one-line summary of a plan, and where its placements go (`docs/spec/cli.md §7.6`).

use std::collections::{BTreeMap, BTreeSet};

use super::page;
use super::table::{Form, cell, headed, table};
use encamp_model::{DesiredUpdates, JobPlanResponse, PlanRejection, short_id};
use encamp_plan::review::{Outcome, Placement};

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
pub fn summary(plan: &JobPlanResponse) -> (String, Severity) {
    let (text, severity) = answer(plan);
    (format!("Plan: {text}"), severity)
}

/// What a plan does, and how serious it is.
pub fn answer(plan: &JobPlanResponse) -> (String, Severity) {
    let PlanCounts { create, replace, in_place, canary, migrate, stop, unplaced, evicted, rejected: _ } =
        PlanCounts::of(plan);
    let replaced = replace.saturating_add(migrate);
    let mut parts = vec![format!("{} to place", create.saturating_add(canary)), format!("{replaced} to replace")];
    let optional = [(in_place, "to update in place"), (stop, "to stop")];
    parts.extend(optional.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
    if evicted > 0 {
        let allocs = plan.annotations.iter().flat_map(|a| &a.preempted_allocs);
        let jobs: BTreeSet<&str> = allocs.map(|a| a.job_id.as_str()).collect();
        let named: Vec<&str> = jobs.iter().take(NAMED).copied().collect();
        let more = jobs.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more jobs") } else { String::new() };
        parts.push(format!("{evicted} evicted ({}{more})", named.join(", ")));
    }
    parts.push(format!("{unplaced} unplaced"));
    let rejected = !plan.plan_rejections.is_empty();
    let verdict = if rejected { "the servers would reject a part of it" } else { "the servers would accept it" };
    let severity = match () {
        () if unplaced > 0 || rejected => Severity::Failing,
        () if replaced > 0 || stop > 0 || evicted > 0 => Severity::Disruptive,
        () => Severity::Harmless,
    };
    (format!("{}; {verdict}", parts.join(", ")), severity)
}

/// The summary with the tags of its colour.
pub fn markup(plan: &JobPlanResponse) -> String {
    let (text, severity) = summary(plan);
    format!("{}{}[reset]", severity.tags(), page::sentence(&text))
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
    use encamp_model::{AllocListStub, AllocMetric, PlanAnnotations};

    fn plan(updates: DesiredUpdates, evicted: &[&str], unplaced: i64) -> JobPlanResponse {
        let stub = |job: &&str| AllocListStub { job_id: job.to_string(), ..AllocListStub::default() };
        let metric = AllocMetric { coalesced_failures: unplaced - 1, ..AllocMetric::default() };
        JobPlanResponse {
            annotations: Some(PlanAnnotations {
                desired_tg_updates: [("web".to_string(), updates)].into_iter().collect(),
                preempted_allocs: evicted.iter().map(stub).collect(),
            }),
            failed_tg_allocs: (unplaced > 0).then(|| ("web".to_string(), metric)).into_iter().collect(),
            ..JobPlanResponse::default()
        }
    }

    #[test]
    fn the_worst_decides_how_serious_a_plan_is() {
        let placed = DesiredUpdates { place: 2, canary: 1, ..DesiredUpdates::default() };
        let got = summary(&plan(placed.clone(), &[], 0));
        let want = "Plan: 3 to place, 0 to replace, 0 unplaced; the servers would accept it";
        assert_eq!(got, (want.to_string(), Severity::Harmless));
        let all = DesiredUpdates { destructive_update: 1, migrate: 1, in_place_update: 4, stop: 5, ..placed.clone() };
        let got = summary(&plan(all, &["b", "a", "b", "c", "d"], 0));
        let want = "Plan: 3 to place, 2 to replace, 4 to update in place, 5 to stop, 5 evicted (a, b, c and 1 more \
                    jobs), 0 unplaced; the servers would accept it";
        assert_eq!(got, (want.to_string(), Severity::Disruptive));
        assert_eq!(summary(&plan(placed, &[], 2)).1, Severity::Failing);
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
