//! Output of `rebalance`: a verdict, the moves, the steps, and figures before and after.

use serde_json::Value;

use super::RenderError;
use super::json::indented;
use super::markdown::code;
use super::page;
use super::plan_summary::Severity;
use super::table::{Form, cell, headed, table};
use super::ui::Ui;
use super::values::{counted, megabytes, megahertz};
use encamp_model::{format_duration, quoted};
use encamp_plan::rebalance::{Action, AreaFigures, Figures, Goal, Nodes, RebalancePlan, Request, Step};

/// Longer lists are cut off, unless all is asked for.
const MANY: usize = 20;
/// The maximum number of nodes that the verdict names.
const SHOWN: usize = 5;
/// The maximum number of names in a cell. Of more, the cell shows the first one.
const NAMED: usize = 2;

/// A plan and the question that it answers.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The question.
    pub request: &'a Request,
    /// The answer.
    pub plan: &'a RebalancePlan,
}

/// The heads of the columns of [`moves`].
pub(super) const MOVES: [&str; 4] = ["Step", "Allocation", "From", "To"];
/// The heads of the columns of [`steps`].
pub(super) const STEPS: [&str; 5] = ["Step", "Moves", "Marks ineligible", "Marks eligible", "At least"];
/// The heads of the columns of [`areas`].
pub(super) const AREAS: [&str; 8] = ["Pool", "Datacenter", "Nodes", "Empty", "CPU", "CPU max", "Memory", "Memory max"];
/// What the mark behind a node says.
pub(super) const ANY_NODE: &str =
    "* Servers may choose another node than the simulated one: the plan does not depend on it.";

/// Formats a plan as JSON (`docs/reference/rebalance.schema.json`).
///
/// # Errors
/// The plan has no JSON form.
pub fn json(view: View<'_>) -> Result<String, RenderError> {
    let mut value = serde_json::to_value(view.plan)?;
    if let Value::Object(members) = &mut value {
        members.insert("SchemaVersion".into(), 1.into());
        members.insert("Goal".into(), goal(view.request).into());
    }
    indented(&value)
}

/// The goal in words, after "to".
pub fn goal(request: &Request) -> String {
    match &request.goal {
        Goal::Free(Nodes::Count { count, cost: None }) => format!("free {}", counted(*count, "node", "nodes")),
        Goal::Free(Nodes::Count { count, cost: Some(key) }) => {
            format!("free {} with the highest meta.{key}", counted(*count, "node", "nodes"))
        }
        Goal::Free(Nodes::Named(ids)) => format!("free {}", counted(ids.len(), "given node", "given nodes")),
        Goal::Fit(job) => format!("make job {} fit", quoted(&job.id)),
        Goal::Spread => "restore spread and affinity scores".into(),
        Goal::Even => "lower the highest utilisation".into(),
    }
}

/// The answer in one sentence.
pub fn verdict(view: View<'_>) -> (String, Severity) {
    let (plan, request) = (view.plan, view.request);
    let effect = effect(view);
    let moves = counted(plan.moves, "move", "moves");
    let steps = counted(plan.steps.len(), "step", "steps");
    match (plan.reached, plan.steps.is_empty()) {
        (true, true) => (nothing(view), Severity::Harmless),
        (true, false) => {
            let text = format!("{moves} in {steps} {effect}; {}.", bound(plan));
            (text, Severity::Harmless)
        }
        (false, true) => (format!("No moves were found to {}.", goal(request)), Severity::Failing),
        (false, false) => {
            let text = format!("The goal, to {}, is not reached: {moves} in {steps} {effect}.", goal(request));
            (text, Severity::Failing)
        }
    }
}

/// The answer if nothing has to be moved.
fn nothing(view: View<'_>) -> String {
    let (plan, request) = (view.plan, view.request);
    match &request.goal {
        Goal::Free(_) if !plan.chosen.is_empty() => {
            let (nodes, are) =
                (counted(plan.chosen.len(), "node", "nodes"), if plan.chosen.len() == 1 { "is" } else { "are" });
            let mut names: Vec<&str> = plan.chosen.iter().map(|n| n.name.as_str()).collect();
            names.sort_unstable();
            let more = names.len().saturating_sub(SHOWN);
            names.truncate(SHOWN);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("Nothing has to be moved: {nodes} {are} already empty ({}{more}).", names.join(", "))
        }
        Goal::Spread if !plan.cut => {
            "Spread, affinity and anti-affinity scores are already as good as moves can make them.".into()
        }
        Goal::Even if !plan.cut && !plan.missing.is_empty() => match request.limits.max_moves {
            Some(most) => {
                format!("No plan with at most {} lowers the highest utilisation.", counted(most, "move", "moves"))
            }
            None => "No move lowers the highest utilisation.".into(),
        },
        Goal::Free(_) | Goal::Fit(_) | Goal::Spread | Goal::Even => {
            format!("Nothing has to be moved to {}.", goal(request))
        }
    }
}

/// What the plan leads to, after the number of moves.
fn effect(view: View<'_>) -> String {
    let plan = view.plan;
    let one = |one: &'static str, many: &'static str| if plan.moves == 1 { one } else { many };
    match &view.request.goal {
        Goal::Free(_) if plan.freed.is_empty() => format!("{} no node", one("frees", "free")),
        Goal::Free(_) => format!("{} {}", one("frees", "free"), counted(plan.freed.len(), "node", "nodes")),
        Goal::Fit(job) if plan.reached => format!("{} job {} fit", one("makes", "make"), quoted(&job.id)),
        Goal::Fit(job) => format!("{} some capacity for job {}", one("frees", "free"), quoted(&job.id)),
        Goal::Spread => {
            let (before, after) = (plan.before.off_target, plan.after.off_target);
            format!("{} spread and affinity scores (off target: {before} -> {after})", one("restores", "restore"))
        }
        Goal::Even => {
            let (before, after) = percents(highest(&plan.before), highest(&plan.after));
            format!("{} the highest utilisation from {before}% to {after}%", one("lowers", "lower"))
        }
    }
}

/// The highest utilisation of a node, in thousandths.
fn highest(figures: &Figures) -> i64 {
    figures.areas.iter().map(|a| a.highest.cpu.max(a.highest.memory)).max().unwrap_or(0)
}

/// Two numbers of thousandths in percent, with a decimal if they are not told apart otherwise.
fn percents(before: i64, after: i64) -> (String, String) {
    let text = |n: i64| match before / 10 == after / 10 {
        true => format!("{}.{}", n / 10, n % 10),
        false => (n / 10).to_string(),
    };
    (text(before), text(after))
}

fn bound(plan: &RebalancePlan) -> String {
    if plan.at_least >= plan.moves {
        "no plan has fewer moves".into()
    } else {
        format!("no plan with fewer than {} exists", counted(plan.at_least, "move", "moves"))
    }
}

/// What follows the verdict.
pub(super) fn remarks(plan: &RebalancePlan) -> Vec<String> {
    let mut out = Vec::new();
    if !plan.steps.is_empty() {
        let time = plan.steps.iter().map(|s| s.at_least).fold(0, i64::saturating_add);
        let jobs = counted(plan.jobs, "job is", "jobs are");
        out.push(format!("{jobs} touched. Replacements take at least {} to become healthy.", format_duration(time)));
    }
    if plan.cut {
        out.push("The search was ended before it was complete: a better plan or a higher bound may exist.".into());
    }
    out
}

/// Prints a plan.
pub fn print(ui: &mut Ui<'_>, view: View<'_>, verbose: bool) {
    let plan = view.plan;
    let (text, severity) = verdict(view);
    ui.output_markup(&format!("[bold]{}{}[reset]", severity.tags(), page::sentence(&text)));
    remarks(plan).iter().for_each(|line| ui.output(&page::sentence(line)));
    if !plan.missing.is_empty() {
        ui.output_markup("\n[bold]What is missing[reset]");
        plan.missing.iter().for_each(|line| ui.output(&page::sentence(&format!("- {line}"))));
    }
    print_moves(ui, plan, verbose);
    print_section(ui, "Steps", &STEPS, steps(plan), Form::Figures);
    if !plan.steps.is_empty() {
        print_section(ui, "Before and after", &AREAS, areas(plan), Form::Figures);
        figures(plan).iter().for_each(|line| ui.output(&page::sentence(line)));
    }
}

fn print_moves(ui: &mut Ui<'_>, plan: &RebalancePlan, verbose: bool) {
    let rows = moves(plan);
    let shown = if verbose { rows.len() } else { rows.len().min(MANY) };
    let left_out = rows.len().saturating_sub(shown);
    let any_node = rows.iter().take(shown).any(|row| row.last().is_some_and(|to| to.ends_with('*')));
    print_section(ui, "Moves", &MOVES, rows.into_iter().take(shown), Form::Figures);
    if left_out > 0 {
        ui.output(&format!("and {left_out} more; use -verbose to list them"));
    }
    if any_node {
        ui.output(&page::sentence(ANY_NODE));
    }
}

/// A heading and a table, if there are rows.
fn print_section<const N: usize>(
    ui: &mut Ui<'_>,
    heading: &str,
    heads: &[&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    form: Form,
) {
    let rows = headed(&heads.join("|"), rows.into_iter().map(|row| row.map(|text| cell(&text)).join("|")));
    if rows.len() > 1 {
        ui.output_markup(&format!("\n[bold]{heading}[reset]"));
        ui.output(&table(&rows, form));
    }
}

/// The moves, in order.
pub(super) fn moves(plan: &RebalancePlan) -> Vec<[String; 4]> {
    let of_step = |(n, step): (usize, &Step)| -> Vec<[String; 4]> {
        let row = |m: &encamp_plan::rebalance::Move| {
            let any = if m.only_there { "" } else { " *" };
            let name = in_namespace(&m.allocation.name, &m.allocation.namespace);
            [n.saturating_add(1).to_string(), name, m.allocation.node.name.clone(), format!("{}{any}", m.to.name)]
        };
        step.moves.iter().map(row).collect()
    };
    plan.steps.iter().enumerate().flat_map(of_step).collect()
}

/// A name, followed by its namespace unless that is `default`.
fn in_namespace(name: &str, namespace: &str) -> String {
    match namespace {
        "default" | "" => name.to_string(),
        namespace => format!("{name}@{namespace}"),
    }
}

/// The steps: how many allocations each moves, and which nodes it marks.
pub(super) fn steps(plan: &RebalancePlan) -> Vec<[String; 5]> {
    let row = |(n, step): (usize, &Step)| {
        let marks = |pick: fn(&Action) -> Option<&str>| {
            let names: Vec<&str> = step.actions.iter().filter_map(pick).collect();
            match names.as_slice() {
                [first, .., _] if names.len() > NAMED => {
                    format!("{first} and {} more", names.len().saturating_sub(1))
                }
                few => few.join(", "),
            }
        };
        let number = n.saturating_add(1).to_string();
        let (off, on) = (marks(ineligible), marks(eligible));
        [number, step.moves.len().to_string(), off, on, format_duration(step.at_least)]
    };
    plan.steps.iter().enumerate().map(row).collect()
}

fn ineligible(action: &Action) -> Option<&str> {
    match action {
        Action::MarkIneligible { node } => Some(&node.name),
        Action::MarkEligible { .. } | Action::StopAllocation { .. } | Action::AwaitHealthy => None,
    }
}

fn eligible(action: &Action) -> Option<&str> {
    match action {
        Action::MarkEligible { node } => Some(&node.name),
        Action::MarkIneligible { .. } | Action::StopAllocation { .. } | Action::AwaitHealthy => None,
    }
}

fn changed<T: PartialEq + ToString>(before: &T, after: &T) -> String {
    if before == after { after.to_string() } else { format!("{} -> {}", before.to_string(), after.to_string()) }
}

/// The figures of each pool and datacenter before and after.
pub(super) fn areas(plan: &RebalancePlan) -> Vec<[String; 8]> {
    let none = AreaFigures::default();
    let same = |a: &AreaFigures, b: &AreaFigures| (&a.pool, &a.datacenter) == (&b.pool, &b.datacenter);
    let row = |after: &AreaFigures| {
        let before = plan.before.areas.iter().find(|b| same(b, after)).unwrap_or(&none);
        let percent = |a: i64, b: i64| format!("{}%", changed(&(a / 10), &(b / 10)));
        [
            after.pool.clone(),
            after.datacenter.clone(),
            changed(&before.nodes, &after.nodes),
            changed(&before.empty, &after.empty),
            percent(before.mean.cpu, after.mean.cpu),
            percent(before.highest.cpu, after.highest.cpu),
            percent(before.mean.memory, after.mean.memory),
            percent(before.highest.memory, after.highest.memory),
        ]
    };
    plan.after.areas.iter().map(row).collect()
}

/// The figures of the cluster before and after.
pub(super) fn figures(plan: &RebalancePlan) -> Vec<String> {
    let (before, after) = (&plan.before, &plan.after);
    let memory = changed(&megabytes(before.largest_memory), &megabytes(after.largest_memory));
    let cpu = changed(&megahertz(before.largest_cpu), &megahertz(after.largest_cpu));
    let mut out = vec![format!("Largest allocation that fits: {memory} of memory, {cpu} of CPU.")];
    if before.off_target != 0 || after.off_target != 0 {
        out.push(format!("Allocations off their spread targets: {}.", changed(&before.off_target, &after.off_target)));
    }
    if before.unplaced != 0 || after.unplaced != 0 {
        out.push(format!("Allocations that wait for capacity: {}.", changed(&before.unplaced, &after.unplaced)));
    }
    out
}

/// A plan for a merge request or a chat, in Markdown.
pub fn markdown(view: View<'_>) -> String {
    let (text, severity) = verdict(view);
    let mark = match severity {
        Severity::Harmless => "",
        Severity::Disruptive | Severity::Failing => ":warning: ",
    };
    let mut out = format!("### Rebalance: {}\n\n{mark}**{text}**\n", goal(view.request));
    remarks(view.plan).iter().for_each(|line| out += &format!("\n{line}\n"));
    if !view.plan.missing.is_empty() {
        out.push('\n');
        view.plan.missing.iter().for_each(|line| out += &format!("- {}\n", code(line)));
    }
    if !view.plan.steps.is_empty() {
        out += &markdown_table("Moves", &MOVES, &moves(view.plan));
        out += &markdown_table("Steps", &STEPS, &steps(view.plan));
        out += &markdown_table("Before and after", &AREAS, &areas(view.plan));
        figures(view.plan).iter().for_each(|line| out += &format!("\n{line}\n"));
    }
    out
}

/// A table of Markdown. Names are code, so that they change no formatting.
fn markdown_table<const N: usize>(title: &str, heads: &[&str; N], rows: &[[String; N]]) -> String {
    let mut out = format!("\n**{title}**\n\n| {} |\n|{}\n", heads.join(" | "), "---|".repeat(N));
    for row in rows.iter().take(MANY) {
        let cells = row.each_ref().map(|text| if text.is_empty() { String::new() } else { code(&cell(text)) });
        out += &format!("| {} |\n", cells.join(" | "));
    }
    if rows.len() > MANY {
        out += &format!("\nand {} more\n", rows.len().saturating_sub(MANY));
    }
    out
}
