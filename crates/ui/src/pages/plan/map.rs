//! The nodes of the cluster with what a plan changes on them.

use std::collections::HashMap;

use maud::{Markup, html};

use super::answer::Plan;
use crate::parts::topology::{Cell, Change, Drawing, Fill};
use crate::parts::usage;
use crate::visit::Visit;

/// The most nodes that are drawn: of more, only those that the plan changes.
const MOST_NODES: usize = 5_000;

/// The nodes as they are, with the allocations that the plan places and preempts. A cluster that cannot be read has no
/// picture: the tables tell the same.
pub(crate) async fn markup(visit: &Visit, plan: &Plan) -> Markup {
    let changes = changes(plan);
    if changes.is_empty() {
        return html! {};
    }
    let Ok(nodes) = usage::read(visit, |_, _| ()).await else { return html! {} };
    let all = nodes.len() <= MOST_NODES;
    let shown = nodes.iter().filter(|n| all || changes.contains_key(n.row.id.as_str()));
    let cells = shown.map(|node| {
        let (cpu, memory) = node.used.share_of(node.capacity);
        let here = changes.get(node.row.id.as_str()).cloned().unwrap_or_default();
        let mut note = format!("{}: CPU {cpu}%, memory {memory}%", node.row.name);
        for (change, count) in &here {
            note.push_str(&format!(", {count} {}", change.word()));
        }
        Cell {
            id: node.row.id.clone(),
            group: node.row.datacenter.clone(),
            note,
            fill: Fill::Share(cpu.max(memory)),
            condition: node.row.condition(),
            highlighted: false,
            changes: here,
            pieces: Vec::new(),
        }
    });
    let drawing = Drawing { cells: cells.collect(), ..Drawing::default() };
    html! { h3 { "On the nodes" } (drawing.markup("Nodes by datacenter, coloured by what is used before the plan")) }
}

/// What the plan does, by node.
fn changes(plan: &Plan) -> HashMap<&str, Vec<(Change, usize)>> {
    let mut changes: HashMap<&str, Vec<(Change, usize)>> = HashMap::new();
    let mut add = |node, change, count| {
        let here = changes.entry(node).or_default();
        match here.iter_mut().find(|(found, _)| *found == change) {
            Some((_, sum)) => *sum += count,
            None => here.push((change, count)),
        }
    };
    for preempted in plan.preempted() {
        add(preempted.node_id.as_str(), Change::Preempted, 1);
    }
    for placements in plan.explanation().into_iter().flat_map(|e| e.all_placements()) {
        add(placements.node_id.as_str(), Change::Placed, placements.count);
    }
    changes
}
