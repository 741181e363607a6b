//! Text output of `capacity`: how many more allocations of each task group fit.

use std::collections::BTreeMap;

use serde::Serialize;

use super::RenderError;
use super::json::indented;
use super::metrics::metric_lines;
use super::page;
use super::styled::Styled;
use super::table::{Form, cell, headed, table};
use super::ui::Ui;
use super::values::plural;
use encamp_model::quoted;
use encamp_plan::capacity::{Capacity, NodeCopies};
use encamp_plan::survival::{Loss, Survival};

/// The maximum number of nodes that are listed unless `-verbose` is given.
const MANY: usize = 20;

/// The data to print.
pub struct View {
    /// ID of the job.
    pub job: String,
    /// The assumed changes, as text.
    pub changes: Vec<String>,
    /// The kind of loss given by `-survive`.
    pub loss: Option<Loss>,
    /// The groups.
    pub groups: Vec<Group>,
}

/// One group.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Group {
    /// The capacity now.
    #[serde(flatten)]
    pub capacity: Capacity,
    /// The capacity after the worst loss, if `-survive` was given and there is a node or datacenter to lose.
    pub survival: Option<Survival>,
}

/// Formats the data as JSON (`docs/reference/capacity.schema.json`).
///
/// # Errors
/// The data has no JSON form.
pub fn json(view: &View) -> Result<String, RenderError> {
    indented(&serde_json::json!({
        "SchemaVersion": 1,
        "JobID": view.job,
        "Changes": view.changes,
        "Groups": view.groups,
    }))
}

/// Prints it.
pub fn print(ui: &mut Ui<'_>, view: &View, verbose: bool) {
    if !view.changes.is_empty() {
        ui.output_markup("[bold]What if:[reset]");
        view.changes.iter().for_each(|c| ui.output(&format!("- {c}")));
        ui.output("");
    }
    for (i, group) in view.groups.iter().enumerate() {
        if i > 0 {
            ui.output("");
        }
        print_group(ui, view, group, verbose);
    }
}

fn print_group(ui: &mut Ui<'_>, view: &View, group: &Group, verbose: bool) {
    let c = &group.capacity;
    let words = plural(c.copies, "copy fits", "copies fit");
    let least = if c.capped { "at least " } else { "" };
    let name = format!("[bold]Job {}, group {}:[reset]", quoted(&view.job), quoted(&c.task_group));
    ui.output_markup(&format!("{name} {least}{} more {words} in addition to {} that run", c.copies, c.running));
    if let Some((first, others)) = c.runs_out.split_first() {
        let nodes = plural(first.nodes, "node", "nodes");
        let others = others.iter().map(|s| format!(", {} on {}", s.dimension, s.nodes)).collect::<String>();
        ui.output(&format!("Runs out first: {}, on {} {nodes}{others}", first.dimension, first.nodes));
    }
    if let Some(s) = &group.survival {
        ui.output(&page::sentence(&survival(s, view.loss)));
    }
    if c.nodes.len() > MANY {
        ui.output(&format!("\n{}", table(&by_datacenter(&c.nodes), Form::Figures)));
    }
    if !c.nodes.is_empty() {
        let shown = if verbose || c.nodes.len() <= MANY { c.nodes.len() } else { MANY };
        let rows =
            c.nodes.iter().take(shown).map(|n| format!("{}|{}|{}", cell(&n.node_name), cell(&n.datacenter), n.copies));
        ui.output(&format!("\n{}", table(&headed("Node|Datacenter|Copies", rows), Form::Figures)));
        if shown < c.nodes.len() {
            let rest: i64 = c.nodes.iter().skip(shown).map(|n| n.copies).sum();
            ui.output(&format!("and {rest} on {} more nodes; use -verbose to list them", c.nodes.len() - shown));
        }
    }
    let why = metric_lines(&c.metrics, "  ", false, ui.colours_on());
    if !why.is_empty() {
        let mut text = Styled::from("\nAnother copy cannot be placed:\n");
        text.push(why);
        ui.output(&text);
    }
}

/// The copies and the nodes that take some, by datacenter.
fn by_datacenter(nodes: &[NodeCopies]) -> Vec<String> {
    let mut all: BTreeMap<&str, (usize, i64)> = BTreeMap::new();
    for n in nodes {
        let (nodes, copies) = all.entry(&n.datacenter).or_default();
        *nodes += 1;
        *copies = copies.saturating_add(n.copies);
    }
    let rows = all.iter().map(|(name, (nodes, copies))| format!("{}|{nodes}|{copies}", cell(name)));
    headed("Datacenter|Nodes|Copies", rows)
}

/// What is known so far, for the progress display: the counts come first, where a narrow terminal shows them.
pub fn progress(s: &Survival) -> String {
    let (decided, of) = (s.decided, s.of);
    format!("{decided} of {of} losses decided: {} to {} copies fit; Ctrl-C ends the search", s.at_least, s.copies)
}

fn survival(s: &Survival, loss: Option<Loss>) -> String {
    let what = loss.unwrap_or(Loss::Node).noun();
    let (lost, words) = (quoted(&s.lost), plural(s.copies, "fits", "fit"));
    let mut out = if s.at_least == s.copies {
        format!("After the worst loss, of {what} {lost}, {} more {words}", s.copies)
    } else {
        let at_most = if s.unplaced.is_some() { "" } else { "at most " };
        format!(
            "After the worst loss of a {what} at least {}, at most {} more {words}: {} of {} losses decided; -exact \
             goes on until the worst is found. The loss of {what} {lost} leaves {at_most}{}",
            s.at_least, s.copies, s.decided, s.of, s.copies
        )
    };
    if let Some(unplaced @ 1..) = s.unplaced {
        let n = i64::try_from(unplaced).unwrap_or(i64::MAX);
        out.push_str(&format!("; {n} lost {} be placed again", plural(n, "allocation cannot", "allocations cannot")));
    }
    out
}
