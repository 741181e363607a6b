//! Explanations of plans: a task group on one screen, or all details of one node.

use super::table::{Form, cell, headed, indented_table, table};
use super::values::{plural, score};
use super::wrap::indented;
use encamp_model::{Scores, short_id};
use encamp_plan::explain::{GroupExplanation, NodeStory, Reason, ScoredNode, Shortage};

/// The maximum number of rows in a table; further rows are only counted.
const ROWS: usize = 8;

/// Explains all task groups of a plan. The result contains markup.
pub fn groups(all: &[GroupExplanation]) -> String {
    all.iter().map(group).collect::<Vec<_>>().join("\n\n")
}

fn group(g: &GroupExplanation) -> String {
    let mut out = format!("[bold]Explanation of group \"{}\"[reset]\n", g.task_group);
    let when = if g.after_plan { "after the plan is applied" } else { "before the plan is applied" };
    let count = |n: u64, what: &str| format!("{n} {what}");
    let sum = |reasons: &[Reason]| reasons.iter().map(|r| r.nodes).sum::<u64>();
    let exhausted = g.exhausted.iter().map(|s| s.nodes).sum::<u64>();
    let mut parts = vec![count(g.placed, "placed")];
    if g.failed > 0 {
        parts.push(format!("[yellow]{} unplaced[reset]", g.failed));
    }
    out += &format!("{}. {} {} {when}: ", parts.join(", "), g.nodes, plural(signed(g.nodes), "node", "nodes"));
    let kinds = [
        (g.fitting, "can take one"),
        (sum(&g.with_preemption), "could with preemption"),
        (exhausted, "exhausted"),
        (sum(&g.filtered), "filtered"),
        (g.passed_over, "passed over"),
        (sum(&g.no_candidates), "not considered"),
    ];
    let kinds: Vec<String> = kinds.iter().filter(|(n, _)| *n > 0).map(|(n, what)| count(*n, what)).collect();
    out += &if kinds.is_empty() { "none".into() } else { kinds.join(", ") };
    section(&mut out, "Not considered", g.no_candidates.iter().map(reason_row));
    section(&mut out, "Filtered", g.filtered.iter().map(reason_row));
    section(&mut out, "Exhausted", g.exhausted.iter().map(shortage_row));
    section(&mut out, "Exhausted, but preemption frees enough", g.with_preemption.iter().map(reason_row));
    if !g.best.is_empty() {
        out += "\n[bold]Best nodes[reset]\n";
        out += &indented(&scored(&g.best));
    }
    if !g.placements.is_empty() {
        out += "\n[bold]Chosen[reset]\n";
        let mut rows = vec!["Placed|Node|Score|Preempted".to_string()];
        for p in g.placements.iter().take(ROWS) {
            let evicted = if p.evicted.is_empty() { "-".to_string() } else { p.evicted.join(" ") };
            rows.push(format!(
                "{}|{}|{}|{evicted}",
                p.count,
                cell(&p.node_name),
                p.score.map(score).unwrap_or_default()
            ));
        }
        out += &indented(&indented_table(&rows, Form::List, 2));
        if let Some(rest) = g.placements.get(ROWS..).filter(|rest| !rest.is_empty()) {
            let placed: u64 = rest.iter().map(|p| p.count).sum();
            out += &format!("\n  and {placed} on {} more nodes", rest.len());
        }
    }
    out
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Appends a heading and rows of `nodes|text`; appends nothing if there are no rows.
fn section(out: &mut String, heading: &str, rows: impl ExactSizeIterator<Item = (u64, String)>) {
    let total = rows.len();
    if total == 0 {
        return;
    }
    *out += &format!("\n[bold]{heading}[reset]\n");
    let (mut shown, mut more) = (Vec::new(), 0);
    for (i, (nodes, text)) in rows.enumerate() {
        if i < ROWS {
            shown.push((nodes, text));
        } else {
            more += nodes;
        }
    }
    let width = shown.iter().map(|(n, _)| n.to_string().len()).max().unwrap_or(1);
    let lines: Vec<String> = shown.iter().map(|(n, text)| format!("{n:>width$}  {text}")).collect();
    *out += &indented(&lines.join("\n"));
    if more > 0 {
        *out += &format!("\n  and {more} for {} more reasons", total - ROWS);
    }
}

fn reason_row(r: &Reason) -> (u64, String) {
    let mut text = r.reason.clone();
    if !r.found.is_empty() {
        let named: u64 = r.found.iter().map(|f| f.nodes).sum();
        let mut found: Vec<String> = match r.found.as_slice() {
            [only] if only.nodes == r.nodes => vec![only.value.clone()],
            all => all.iter().map(|f| format!("{} on {}", f.value, f.nodes)).collect(),
        };
        if named < r.nodes {
            found.push(format!("others on {}", r.nodes - named));
        }
        text += &format!("; found {}", found.join(", "));
    }
    (r.nodes, text + &examples(&r.examples, r.nodes))
}

fn shortage_row(s: &Shortage) -> (u64, String) {
    let mut text = s.dimension.clone();
    if let (Some(asked), Some((least, most))) = (s.asked, s.free) {
        let unit = if s.dimension == "cpu" { "MHz" } else { "MiB" };
        let free = if least == most { most.to_string() } else { format!("{least} to {most}") };
        text += &format!(": {asked} {unit} requested, {free} free");
    }
    (s.nodes, text + &examples(&s.examples, s.nodes))
}

fn examples(names: &[String], nodes: u64) -> String {
    match names.is_empty() {
        true => String::new(),
        false if (names.len() as u64) < nodes => format!(" ({}, …)", names.join(", ")),
        false => format!(" ({})", names.join(", ")),
    }
}

/// A table of nodes with one column per scorer.
fn scored(nodes: &[ScoredNode]) -> String {
    let names = scorers(nodes.iter().map(|n| &n.scores));
    let mut rows = vec![format!("Node|{}|final score", names.join("|"))];
    for n in nodes {
        let scores: Vec<String> = names.iter().map(|name| score(n.scores.get(name).unwrap_or(0.0))).collect();
        rows.push(format!("{}|{}|{}", cell(&n.node_name), scores.join("|"), score(n.score)));
    }
    table(&rows, Form::List)
}

/// The names of all scorers, in order of first appearance.
fn scorers<'s>(all: impl Iterator<Item = &'s Scores>) -> Vec<&'s str> {
    let mut names = Vec::new();
    for name in all.flat_map(Scores::iter).map(|(name, _)| name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Explains one node for every task group. The result contains markup.
pub fn node(name: &str, id: &str, stories: &[NodeStory]) -> String {
    let mut out = format!("[bold]Node {name}[reset] ({id})");
    for s in stories {
        out += &format!("\n\n[bold]Group \"{}\"[reset]: {} placed here\n", s.task_group, s.placed);
        out += &indented(&s.verdict.join("\n"));
        if let Some(final_score) = s.score {
            let parts: Vec<String> =
                s.scores.iter().flat_map(Scores::iter).map(|(n, v)| format!("{n} {}", score(v))).collect();
            let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
            out += &format!("\n  score {}{parts}", score(final_score));
        }
        let mut rows = vec!["Dimension|Total|Used|Free|Requested".to_string()];
        let room = s
            .room
            .iter()
            .map(|r| format!("{}|{}|{}|{}|{}", r.dimension, r.total, r.used, r.total.saturating_sub(r.used), r.asked));
        rows.extend(room);
        out += &format!("\n{}", indented(&indented_table(&rows, Form::List, 2)));
        if !s.allocations.is_empty() {
            let rows = s.allocations.iter().map(|a| {
                let (id, job) = (short_id(&a.alloc_id), cell(&a.job_id));
                format!("{id}|{job}|{}|{}|{}|{}", a.priority, a.cpu, a.memory_mb, a.verdict)
            });
            out += &format!(
                "\n{}",
                indented(&indented_table(
                    &headed("Allocation|Job|Priority|CPU|Memory|Preemption", rows),
                    Form::List,
                    2
                ))
            );
        }
    }
    out
}
