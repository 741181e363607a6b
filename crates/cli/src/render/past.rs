//! Explanations of past evaluations.

use std::collections::BTreeMap;

use super::plan::rejection;
use super::table::{Form, cell, table};
use super::values::{plural, score, time};
use super::wrap::indented;
use encamp_model::{AllocMetric, short_id};
use encamp_plan::past::{PastEvaluation, PastGroup};

/// The maximum number of placements listed per task group; further placements are only counted.
const ROWS: usize = 20;

/// Explains an evaluation. The result contains markup.
pub fn evaluation(e: &PastEvaluation, zone: &jiff::tz::TimeZone) -> String {
    let mut head = vec![
        format!("ID|{}", e.id),
        format!("Job|{} (namespace {}, {})", e.job_id, e.namespace, e.r#type),
        format!("Triggered By|{}", e.triggered_by),
        format!("Status|{}", if e.status_description.is_empty() { e.status.as_str() } else { &e.status_description }),
    ];
    let created = time(e.create_time, zone);
    let more = [
        ("Created", created.as_str()),
        ("Previous Eval", &e.previous_eval),
        ("Next Eval", &e.next_eval),
        ("Blocked Eval", &e.blocked_eval),
    ];
    head.extend(more.iter().filter(|(_, v)| !v.is_empty()).map(|(k, v)| format!("{k}|{v}")));
    let mut out = table(&head, Form::KeyValue);
    if e.groups.is_empty() {
        out += "\n\nNo allocations were placed, and no placements failed.";
    }
    for g in &e.groups {
        out += &format!("\n\n[bold]Group \"{}\"[reset]: {} placed", g.task_group, g.placed.len());
        if g.failed > 0 {
            out += &format!(", [yellow]{} unplaced[reset]", g.failed);
        }
        group(&mut out, g);
    }
    if !e.plan_rejections.is_empty() {
        out += "\n\n[bold]Rejected allocations of the last plan[reset]";
        e.plan_rejections.iter().for_each(|r| out += &format!("\n  {}", rejection(r)));
    }
    if !e.missing_non_node_resources.is_empty() {
        out += "\n\n[bold]Missing resources that are not tied to a node[reset]";
        e.missing_non_node_resources.iter().for_each(|m| out += &format!("\n  {m}"));
    }
    if !e.blocked_eval.is_empty() {
        out += &format!(
            "\n\nEvaluation {} is waiting for additional capacity to place the remaining allocations.",
            e.blocked_eval
        );
    }
    out
}

fn group(out: &mut String, g: &PastGroup) {
    if let Some(m) = &g.failure {
        *out += &format!("\n  Last failed placement: {}", evaluated(m));
        counts(out, "Filtered", &m.constraint_filtered);
        counts(out, "Exhausted", &m.dimension_exhausted);
        let missing: Vec<String> = m
            .nodes_available
            .iter()
            .flat_map(|counts| counts.iter())
            .filter(|(_, n)| **n == 0)
            .map(|(dc, _)| dc.clone())
            .collect();
        if !missing.is_empty() {
            *out += &format!("\n  No nodes in {}", missing.join(", "));
        }
    }
    if g.placed.is_empty() {
        return;
    }
    let mut rows = vec!["Allocation|Node|Status|Score|Next Best|Search".to_string()];
    for p in g.placed.iter().take(ROWS) {
        let number = |n: Option<f64>| n.map_or("-".to_string(), score);
        let id = short_id(&p.alloc_id);
        let name = if p.node_name.is_empty() { &p.node_id } else { &p.node_name };
        let mut search = evaluated(&p.metrics);
        if !p.preempted.is_empty() {
            search += &format!("; {} preempted", p.preempted.len());
        }
        rows.push(format!(
            "{id}|{}|{}|{}|{}|{search}",
            cell(name),
            p.client_status,
            number(p.score),
            number(p.runner_up)
        ));
    }
    *out += &format!("\n{}", indented(&table(&rows, Form::List)));
    if g.placed.len() > ROWS {
        *out += &format!("\n  and {} more", g.placed.len() - ROWS);
    }
}

fn evaluated(m: &AllocMetric) -> String {
    let mut out =
        format!("{} of {} {} evaluated", m.nodes_evaluated, m.nodes_in_pool, plural(m.nodes_in_pool, "node", "nodes"));
    if !m.node_pool.is_empty() {
        out += &format!(" in pool {}", m.node_pool);
    }
    for (n, what) in [(m.nodes_filtered, "filtered"), (m.nodes_exhausted, "exhausted")] {
        if n > 0 {
            out += &format!(", {n} {what}");
        }
    }
    out
}

fn counts(out: &mut String, heading: &str, all: &BTreeMap<String, i64>) {
    if all.is_empty() {
        return;
    }
    let mut rows: Vec<(&String, &i64)> = all.iter().collect();
    rows.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
    let width = rows.iter().map(|(_, n)| n.to_string().len()).max().unwrap_or(1);
    *out += &format!("\n  {heading}");
    for (what, n) in rows {
        let note = if what == "computed class ineligible" {
            " (another node of the same class was already ineligible)"
        } else {
            ""
        };
        *out += &format!("\n    {n:>width$}  {what}{note}");
    }
}
