//! Why allocations are not placed, and how the node of one was chosen: the metrics that schedulers record.

use std::collections::BTreeMap;

use encamp_model::{AllocMetric, PlanRejection};
use maud::{Markup, html};

use super::table::Table;
use super::{link, plural};

/// Why allocations of groups are not placed, by group.
pub(crate) fn unplaced(groups: &BTreeMap<String, AllocMetric>) -> Markup {
    html! {
        @for (group, metric) in groups {
            h3 { "Group " (group) ": " (missing(metric)) " unplaced" }
            (reasons(metric, &format!("Why nodes were excluded from group {group}")))
        }
    }
}

/// What excluded nodes: each reason with its number of nodes. `caption`: of the table.
pub(crate) fn reasons(metric: &AllocMetric, caption: &str) -> Markup {
    let mut table = Table::new(caption, &["Reason", "Kind", "Nodes#"], html! { (no_reason(metric)) });
    let kinds: [(&str, &BTreeMap<String, i64>); 4] = [
        ("constraint", &metric.constraint_filtered),
        ("class filtered", &metric.class_filtered),
        ("resources exhausted", &metric.dimension_exhausted),
        ("class exhausted", &metric.class_exhausted),
    ];
    for (kind, reasons) in kinds {
        for (reason, nodes) in reasons {
            table.row([html! { (reason) }, html! { (kind) }, html! { (nodes) }]);
        }
    }
    for quota in &metric.quota_exhausted {
        table.row([html! { (quota) }, html! { "quota exhausted" }, html! { "-" }]);
    }
    html! {
        p.muted {
            "Nodes: " (metric.nodes_in_pool) " in the pool, " (metric.nodes_evaluated) " evaluated, "
            (metric.nodes_filtered) " filtered, " (metric.nodes_exhausted) " exhausted"
        }
        (table.markup())
    }
}

fn no_reason(metric: &AllocMetric) -> &'static str {
    match (metric.nodes_evaluated, metric.nodes_in_pool) {
        (0, 0) => "No node is in the job's node pool and datacenters. Add clients, or change the job's pool.",
        (0, _) => "No node was evaluated: none is ready in the job's datacenters.",
        _ => "No node was excluded.",
    }
}

/// The scores of the nodes that were compared, the best first. `chosen`: the node of the allocation.
pub(crate) fn scores(metric: &AllocMetric, chosen: &str) -> Markup {
    let mut nodes: Vec<_> = metric.score_meta_data.iter().collect();
    nodes.sort_by(|a, b| b.norm_score.total_cmp(&a.norm_score));
    let empty = html! { "The scheduler recorded no scores." };
    let mut table = Table::new("Scores of nodes", &["Node", "Score#", "Parts"], empty);
    for node in nodes {
        let parts = node.scores.iter().map(|(name, score)| format!("{name} {score:.3}"));
        let parts = parts.collect::<Vec<_>>().join(", ");
        let mark = if node.node_id == chosen { " (chosen)" } else { "" };
        table.row([
            html! { (link::client(&node.node_id, "")) (mark) },
            html! { (format!("{:.3}", node.norm_score)) },
            html! { (parts) },
        ]);
    }
    table.markup()
}

/// What nodes rejected of a plan.
pub(crate) fn rejections(rejections: &[PlanRejection]) -> Markup {
    html! {
        @if !rejections.is_empty() {
            h3 { "Rejected by nodes" }
            ul { @for r in rejections { li { (link::client(&r.node_id, &r.node_name)) ": " (r) } } }
        }
    }
}

/// The reasons in one line: the most frequent first.
pub(crate) fn summary(metric: &AllocMetric) -> String {
    if metric.nodes_evaluated == 0 {
        return "no ready node in its datacenters and node pool".into();
    }
    let nodes = |n: i64| plural(n, "node");
    let filtered = metric.constraint_filtered.iter().map(|(what, n)| (*n, format!("{} excluded by {what}", nodes(*n))));
    let exhausted =
        metric.dimension_exhausted.iter().map(|(what, n)| (*n, format!("{what} exhausted on {}", nodes(*n))));
    let mut reasons: Vec<(i64, String)> = filtered.chain(exhausted).collect();
    reasons.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    reasons.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(", ")
}

/// Allocations that were not placed, as the record of one search tells.
pub(crate) fn missing(metric: &AllocMetric) -> i64 {
    metric.coalesced_failures.saturating_add(1)
}
