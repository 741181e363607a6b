//! Why a plan places allocations where it does, and why not elsewhere.

use maud::{Markup, html};

use crate::pages::questions::ask::table;
use crate::parts::command::answer;
use crate::parts::link;

answer! {
    /// Of every group, or of one node.
    pub(crate) struct Explanation { #[serde(default)] groups: Vec<Group>, node: Option<Node> }

    pub(crate) struct Group {
        task_group: String, nodes: u64, no_candidates: Vec<Reason>, filtered: Vec<Reason>, exhausted: Vec<Shortage>,
        with_preemption: Vec<Reason>, fitting: u64, placements: Vec<Placements>,
    }

    struct Reason { reason: String, nodes: u64, found: Vec<Found>, examples: Vec<String> }

    struct Found { value: String, nodes: u64 }

    struct Shortage {
        dimension: String, nodes: u64, asked: Option<i64>, free: Option<(i64, i64)>, examples: Vec<String>,
    }

    /// Allocations of a group that a node gets.
    pub(crate) struct Placements {
        pub node_id = "NodeID": String, node_name: String, pub count: usize, score: Option<f64>,
        evicted: Vec<String>,
    }

    struct Node { id = "ID": String, name: String, groups: Vec<Story> }

    /// What a node is to a group.
    struct Story {
        task_group: String, verdict: Vec<String>, capacity = "Room": Vec<Capacity>, allocations: Vec<Candidate>,
    }

    struct Capacity { dimension: String, total: i64, used: i64, asked: i64 }

    struct Candidate {
        alloc_id = "AllocID": String, job_id = "JobID": String, priority: i64, cpu = "CPU": i64,
        memory = "MemoryMB": i64, verdict: String,
    }
}

impl Explanation {
    /// The explanation of a group.
    pub(crate) fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|g| g.task_group == name)
    }

    /// All placements.
    pub(crate) fn all_placements(&self) -> impl Iterator<Item = &Placements> {
        self.groups.iter().flat_map(|g| &g.placements)
    }
}

/// Where the plan places allocations; or what one node is to it.
pub(crate) fn placements(explanation: &Explanation) -> Markup {
    if let Some(node) = &explanation.node {
        return story(node);
    }
    let rows: Vec<(&Group, &Placements)> =
        explanation.groups.iter().flat_map(|g| g.placements.iter().map(move |p| (g, p))).collect();
    table(
        "Placements",
        &["Node", "Group", "Allocations#", "Score#", "Preempts"],
        &rows,
        "The plan places nothing.",
        |(g, p)| {
            vec![
                link::client(&p.node_id, &p.node_name),
                html! { (g.task_group) },
                html! { (p.count) },
                html! { @match p.score { Some(score) => (format!("{score:.3}")), None => "-" } },
                html! { @for id in &p.evicted { (link::allocation(id)) " " } },
            ]
        },
    )
}

/// Why nodes cannot run a group.
pub(crate) fn reasons(group: &Group) -> Markup {
    let mut rows: Vec<(&str, Markup, u64, &[String])> = Vec::new();
    for (kind, reasons) in [("not considered", &group.no_candidates), ("excluded", &group.filtered)] {
        rows.extend(reasons.iter().map(|r| (kind, reason(r), r.nodes, r.examples.as_slice())));
    }
    rows.extend(group.exhausted.iter().map(|s| ("exhausted", shortage(s), s.nodes, s.examples.as_slice())));
    rows.extend(
        group.with_preemption.iter().map(|r| ("fits with preemption", reason(r), r.nodes, r.examples.as_slice())),
    );
    html! {
        p { (group.fitting) " of " (group.nodes) " nodes can run one more allocation." }
        @if !rows.is_empty() { (table("Nodes that cannot", &["Nodes", "Why", "How many#", "Names"], &rows, "", |(kind, why, nodes, examples)| vec![
            html! { (kind) },
            (*why).clone(),
            html! { (nodes) },
            html! { (examples.join(", ")) @if usize::try_from(*nodes).is_ok_and(|n| n > examples.len()) { ", …" } },
        ])) }
    }
}

fn reason(r: &Reason) -> Markup {
    let found: Vec<String> = r.found.iter().map(|f| format!("{} on {}", f.value, f.nodes)).collect();
    html! { (r.reason) @if !found.is_empty() { span.muted { " (found: " (found.join(", ")) ")" } } }
}

fn shortage(s: &Shortage) -> Markup {
    html! {
        (s.dimension)
        @if let Some(asked) = s.asked { ": " (asked) " requested" }
        @if let Some((least, most)) = s.free { ", " @if least == most { (least) } @else { (least) " to " (most) } " free" }
    }
}

fn story(node: &Node) -> Markup {
    html! {
        h3 { "Node " (link::client(&node.id, &node.name)) }
        @for s in &node.groups {
            h4 { "Group " (s.task_group) }
            ul.reasons { @for sentence in &s.verdict { li { (sentence) } } }
            (table("Capacity of the node", &["Resource", "Total#", "Used#", "Requested#"], &s.capacity, "", |r| vec![
                html! { (r.dimension) }, html! { (r.total) }, html! { (r.used) }, html! { (r.asked) },
            ]))
            (table("Allocations on the node", &["Allocation", "Job", "Priority#", "CPU#", "Memory#", "Preemption"], &s.allocations, "There are none.", |a| vec![
                link::allocation(&a.alloc_id), html! { (a.job_id) }, html! { (a.priority) }, html! { (a.cpu) " MHz" },
                html! { (a.memory) " MiB" }, html! { (a.verdict) },
            ]))
        }
    }
}
