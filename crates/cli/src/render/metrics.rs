//! Why placements failed (`docs/spec/cli.md §5`).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::markup::markup;
use super::page;
use super::styled::Styled;
use super::table::{Form, table};
use super::values::{counted, score};
use super::wrap::fitted;
use encamp_model::{AllocMetric, quoted};
use encamp_scheduler::stack::CLASS_INELIGIBLE;

/// A reason for which placements failed, as a sentence.
pub struct Reason {
    /// The sentence.
    pub text: String,
    /// Nodes do not have the driver of a task.
    pub missing_driver: bool,
}

/// The reasons that an allocation metric contains.
pub fn reasons(metric: &AllocMetric) -> Vec<Reason> {
    explained_reasons(metric, |_| String::new())
}

/// The same, with what `explain` adds to the reason of a class that is ineligible.
fn explained_reasons(metric: &AllocMetric, explain: impl Fn(&AllocMetric) -> String) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut push = |text: String| reasons.push(Reason { text, missing_driver: false });
    if metric.nodes_evaluated == 0 {
        push("No nodes were eligible for evaluation".into());
    }
    let available = metric.nodes_available.iter().flat_map(|counts| counts.iter());
    for (dc, _) in available.filter(|(_, n)| **n == 0) {
        push(format!("No nodes are available in datacenter {}", quoted(dc)));
    }
    for (class, n) in &metric.class_filtered {
        push(format!("Class {}: {n} nodes excluded by filter", quoted(class)));
    }
    for (constraint, n) in &metric.constraint_filtered {
        let mut text = format!("Constraint {}: {n} nodes excluded by filter", quoted(constraint));
        if constraint == CLASS_INELIGIBLE {
            text.push_str(&explain(metric));
        }
        reasons.push(Reason { text, missing_driver: constraint.contains("missing drivers") });
    }
    let mut push = |text: String| reasons.push(Reason { text, missing_driver: false });
    if metric.nodes_exhausted > 0 {
        push(format!("Resources exhausted on {} nodes", metric.nodes_exhausted));
    }
    for (what, counts) in [("Class", &metric.class_exhausted), ("Dimension", &metric.dimension_exhausted)] {
        for (name, n) in counts {
            push(format!("{what} {} exhausted on {n} nodes", quoted(name)));
        }
    }
    for quota in &metric.quota_exhausted {
        push(format!("Quota limit hit {}", quoted(quota)));
    }
    reasons
}

/// The constraints behind the reason of ineligible classes, for people, as far as the metric tells them.
fn classes_of_metric(metric: &AllocMetric) -> String {
    let named: Vec<&String> = metric.constraint_filtered.keys().filter(|c| *c != CLASS_INELIGIBLE).collect();
    match named.as_slice() {
        [] => " (an earlier node of the same class failed a constraint of the job)".into(),
        [one] => format!(" (another node of the same class failed {})", quoted(one)),
        _ => " (another node of the same class failed a constraint named here)".into(),
    }
}

/// The same, where the constraints of these nodes are known.
fn classes_by_reason(reasons: &[(String, u64)]) -> String {
    match reasons {
        [(one, _)] => format!(" (their class fails {})", quoted(one)),
        several => {
            let several: Vec<String> = several.iter().map(|(reason, n)| format!("{} on {n}", quoted(reason))).collect();
            format!(" (their classes fail {})", several.join(", "))
        }
    }
}

/// The lines about an allocation metric, each behind `prefix`; with `scores`, also how nodes were ranked.
pub fn metric_lines(metric: &AllocMetric, prefix: &str, scores: bool, colours: bool) -> Styled {
    explained_lines(metric, prefix, scores, colours, &[])
}

/// The same, with the reasons for which the nodes of ineligible classes are excluded. Only people read them.
pub fn explained_lines(
    metric: &AllocMetric,
    prefix: &str,
    scores: bool,
    colours: bool,
    classes: &[(String, u64)],
) -> Styled {
    let explain = |metric: &AllocMetric| match page::width() {
        None => String::new(),
        Some(_) if classes.is_empty() => classes_of_metric(metric),
        Some(_) => classes_by_reason(classes),
    };
    let line = |reason: Reason| {
        let line = format!("{prefix}* {}", reason.text);
        if reason.missing_driver { markup(&format!("[red]{line}[reset]"), colours) } else { line }
    };
    let mut lines: Vec<String> = explained_reasons(metric, explain).into_iter().map(line).collect();
    if scores && !metric.score_meta_data.is_empty() {
        lines.push(score_table(metric));
    } else if scores {
        for (name, value) in &metric.scores {
            lines.push(format!("{prefix}* Score {} = {value:.6}", quoted(name)));
        }
    }
    let text = lines.join("\n");
    let text = page::width().map(|columns| fitted(&text, columns).into_owned()).unwrap_or(text);
    // Names are quoted, cells of tables are escaped.
    Styled::from_escaped(text)
}

/// The reason that rules out most nodes, in a few words; `None` if the metric names none.
pub fn main_reason(metric: &AllocMetric) -> Option<String> {
    let most = |counts: &BTreeMap<String, i64>| {
        counts.iter().max_by_key(|(name, n)| (**n, Reverse(*name))).map(|(name, n)| (name.clone(), *n))
    };
    let nodes = |n: i64| counted(n, "node", "nodes");
    let exhausted = most(&metric.dimension_exhausted);
    let filtered = most(&metric.constraint_filtered);
    match (exhausted, filtered) {
        (Some((name, n)), Some((_, m))) if n >= m => Some(format!("{name} exhausted on {}", nodes(n))),
        (Some((name, n)), None) => Some(format!("{name} exhausted on {}", nodes(n))),
        (_, Some((name, n))) => Some(format!("filtered on {} ({name})", nodes(n))),
        (None, None) if metric.nodes_evaluated > 0 => None,
        (None, None) => Some("no ready node in its datacenters and pool".into()),
    }
}

fn score_table(metric: &AllocMetric) -> String {
    let names: BTreeSet<&str> =
        metric.score_meta_data.iter().flat_map(|m| m.scores.iter()).map(|(name, _)| name).collect();
    let mut header = vec!["Node".to_string()];
    header.extend(names.iter().map(|name| name.to_string()));
    header.push("final score".into());
    let mut rows = vec![header.join("|")];
    for meta in &metric.score_meta_data {
        let mut row = vec![meta.node_id.clone()];
        row.extend(names.iter().map(|name| score(meta.scores.get(name).unwrap_or(0.0))));
        row.push(score(meta.norm_score));
        rows.push(row.join("|"));
    }
    table(&rows, Form::List)
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::NodeScoreMeta;

    #[test]
    fn the_main_reason_rules_out_most_nodes() {
        let counts = |list: &[(&str, i64)]| list.iter().map(|(name, n)| (name.to_string(), *n)).collect();
        let reason = |exhausted: &[(&str, i64)], filtered: &[(&str, i64)], nodes_evaluated| {
            let (dimension_exhausted, constraint_filtered) = (counts(exhausted), counts(filtered));
            main_reason(&AllocMetric {
                nodes_evaluated,
                dimension_exhausted,
                constraint_filtered,
                ..Default::default()
            })
        };
        let memory = reason(&[("cpu", 1), ("memory", 5)], &[("c", 5)], 9);
        assert_eq!(memory.as_deref(), Some("memory exhausted on 5 nodes"));
        assert_eq!(reason(&[("cpu", 1)], &[("a = b", 2)], 3).as_deref(), Some("filtered on 2 nodes (a = b)"));
        assert_eq!(reason(&[("cpu", 1)], &[], 1).as_deref(), Some("cpu exhausted on 1 node"));
        assert_eq!(reason(&[], &[], 0).as_deref(), Some("no ready node in its datacenters and pool"));
        assert_eq!(reason(&[], &[], 1), None);
    }

    #[test]
    fn scores_make_a_table_of_all_scorers() {
        let meta = |id: &str, scores: &[(&str, f64)], norm_score| NodeScoreMeta {
            node_id: id.into(),
            scores: encamp_model::Scores(scores.iter().map(|(k, v)| (k.to_string().into(), *v)).collect()),
            norm_score,
        };
        let metric = AllocMetric {
            nodes_evaluated: 2,
            score_meta_data: vec![
                meta("n1", &[("binpack", 0.0821), ("job-anti-affinity", -0.5)], 0.1),
                meta("n2", &[("binpack", 1.0)], 1.0),
            ],
            ..AllocMetric::default()
        };
        let want = "Node  binpack  job-anti-affinity  final score\n\
                    n1    0.0821   -0.5               0.1\n\
                    n2    1        0                  1";
        assert_eq!(metric_lines(&metric, "  ", true, false).as_str(), want);
        assert_eq!(metric_lines(&metric, "  ", false, false).as_str(), "");
    }
}
