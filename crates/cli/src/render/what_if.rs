//! Text output of `what-if`: where allocations move after the assumed changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::RenderError;
use super::json::{indented, versioned};
use super::markdown::code;
use super::metrics::{main_reason, metric_lines};
use super::page;
use super::plan_summary::Severity;
use super::styled::Styled;
use super::table::{Form, cell, headed, table, table_of_sentences};
use super::ui::Ui;
use super::values::{counted, megabytes, megahertz, plural};
use encamp_model::{AllocMetric, quoted, short_id};
use encamp_plan::what_if::headroom::{Moves, PoolRoom, Room};
use encamp_plan::what_if::{Cause, Displaced, Fate, Outcome, Owner, Unplaced};

/// Longer lists are left out or cut off, unless all is asked for.
const MANY: usize = 20;
/// The number of groups of which the output explains in full why they cannot be placed, unless all is asked for.
const EXPLAINED: usize = 3;

/// How much of an outcome to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// The verdict, what has a problem, and short lists.
    Short,
    /// Also every job.
    Jobs,
    /// Also every allocation.
    Allocations,
}

/// Formats the outcome as JSON (`docs/reference/what-if.schema.json`).
///
/// # Errors
/// The outcome has no JSON form.
pub fn json(outcome: &Outcome) -> Result<String, RenderError> {
    indented(&value(outcome)?)
}

/// The outcome as a JSON value.
///
/// # Errors
/// The outcome has no JSON form.
pub fn value(outcome: &Outcome) -> Result<Value, RenderError> {
    let mut value = versioned(outcome)?;
    if let Value::Object(members) = &mut value {
        let fates = [Fate::Moved, Fate::Unplaced, Fate::Stopped, Fate::Stays];
        let names = ["Moved", "Unplaced", "Stopped", "Stays"];
        let counts = names.iter().zip(fates).map(|(name, fate)| (name.to_string(), outcome.count(None, fate).into()));
        members.insert("Fates".into(), Value::Object(counts.collect()));
    }
    Ok(value)
}

/// A Markdown paragraph that precedes a plan.
pub fn markdown(outcome: &Outcome) -> String {
    let mark = if outcome.falls_short() { ":warning: " } else { "" };
    let changes: Vec<String> = outcome.changes.iter().map(|c| code(c)).collect();
    let mut out = format!("{mark}**What if:** {}. {}", changes.join(", "), summary(outcome));
    let short: Vec<String> = outcome.unplaced.iter().filter(|u| !u.waited).map(short).collect();
    if !short.is_empty() {
        out.push_str(&format!(" Unplaced: {}.", short.join(", ")));
    }
    out
}

fn short(u: &Unplaced) -> String {
    format!("{} of group {} of job {}", u.count, code(&u.owner.task_group), code(&job(&u.owner)))
}

/// Prints the outcome: the answer first, then what has a problem, then lists.
pub fn print(ui: &mut Ui<'_>, outcome: &Outcome, extent: Extent) {
    let (concerned, waited): (Vec<&Unplaced>, Vec<&Unplaced>) = outcome.unplaced.iter().partition(|u| !u.waited);
    let problems = problems(outcome, &concerned);
    let (verdict, severity) = verdict(outcome, &concerned);
    ui.output_markup(&format!("{}{}[reset]", severity.tags(), page::sentence(&verdict)));
    ui.output(&page::sentence(&summary(outcome)));
    if let Some(line) = still_waiting(&waited) {
        ui.output(&line);
    }
    ui.output("");
    print_assumptions(ui, outcome);
    let rows = places(outcome).into_iter().map(|row| row.map(|text| cell(&text)).join("|"));
    let places = headed("Datacenter|Nodes|Displaced|Unplaced|Received|CPU free|Memory free", rows);
    ui.output(&format!("\n{}", table(&places, Form::Figures)));
    print_problems(ui, &problems, &concerned, extent);
    print_lists(ui, outcome, &waited, extent);
    if extent >= Extent::Jobs {
        section(ui, "Free capacity of ready nodes", &table(&room(&outcome.headroom), Form::Figures));
    }
    let left_out = outcome.displaced.len().max(outcome.placed.len()) > MANY || problems.len() > MANY;
    match extent {
        Extent::Short if left_out => ui.output("\nUse -all to list every job, and -verbose to list every allocation."),
        Extent::Short | Extent::Jobs | Extent::Allocations => {}
    }
}

/// The line about allocations that wait for capacity before and after the changes; `None` if there are none.
pub(super) fn still_waiting(waited: &[&Unplaced]) -> Option<String> {
    let n = waited.iter().map(|u| u.count).sum::<i64>();
    let n = (!waited.is_empty()).then(|| counted(n, "allocation was waiting", "allocations were waiting"))?;
    Some(format!("{n} for capacity before the changes, and still would be."))
}

/// The answer: failing if allocations are unplaced, disruptive if some are preempted.
pub(super) fn verdict(outcome: &Outcome, short: &[&Unplaced]) -> (String, Severity) {
    let jobs = |owners: BTreeSet<&Owner>| {
        let jobs: BTreeSet<(&str, &str)> = owners.iter().map(|o| (o.namespace.as_str(), o.job_id.as_str())).collect();
        counted(jobs.len(), "job", "jobs")
    };
    if !short.is_empty() {
        let n = counted(short.iter().map(|u| u.count).sum::<i64>(), "allocation", "allocations");
        let of = jobs(short.iter().map(|u| &u.owner).collect());
        return (format!("{n} of {of} would be unplaced."), Severity::Failing);
    }
    let preempted: Vec<&Displaced> = outcome.displaced.iter().filter(|d| d.cause == Cause::Preempted).collect();
    if !preempted.is_empty() {
        let n = counted(preempted.len(), "allocation", "allocations");
        let of = jobs(preempted.iter().map(|d| &d.owner).collect());
        return (format!("No allocation would be unplaced, but {n} of {of} would be preempted."), Severity::Disruptive);
    }
    ("No allocation would be unplaced.".to_string(), Severity::Harmless)
}

/// The nodes of each datacenter and pool: what happens to their allocations, and their free capacity.
pub(super) fn places(outcome: &Outcome) -> Vec<[String; 7]> {
    let changed = |old: String, new: String| if old == new { new } else { format!("{old} -> {new}") };
    let percent = |free: i64, all: i64| (all > 0).then(|| free.saturating_mul(100) / all);
    let part = |before: Option<i64>, after: Option<i64>| match (before, after) {
        (Some(a), Some(b)) if a != b => format!("{a} -> {b}%"),
        (_, Some(b)) => format!("{b}%"),
        (_, None) => "-".into(),
    };
    let row = |name: String, before: &Room, after: &Room, moves: &Moves| {
        [
            name,
            changed(before.nodes.to_string(), after.nodes.to_string()),
            moves.displaced.to_string(),
            moves.unplaced.to_string(),
            moves.received.to_string(),
            part(percent(before.cpu_free, before.cpu), percent(after.cpu_free, after.cpu)),
            part(percent(before.memory_free_mb, before.memory_mb), percent(after.memory_free_mb, after.memory_mb)),
        ]
    };
    let datacenters = outcome.datacenters.iter().map(|p| row(p.datacenter.clone(), &p.before, &p.after, &p.moves));
    let pools = outcome.headroom.iter().map(|p| row(format!("pool {}", p.pool), &p.before, &p.after, &p.moves));
    // With one pool, its row says what those of the datacenters say.
    datacenters.chain(pools.filter(|_| outcome.headroom.len() > 1)).collect()
}

/// A group that loses allocations, or is interrupted.
pub(super) struct Problem<'a> {
    pub owner: &'a Owner,
    pub priority: i64,
    unplaced: i64,
    preempted: usize,
    metrics: Option<&'a AllocMetric>,
}

impl Problem<'_> {
    /// What happens, in words.
    pub(super) fn text(&self) -> String {
        let mut parts = Vec::new();
        if self.unplaced > 0 {
            let why = self.metrics.and_then(main_reason).map(|why| format!(": {why}")).unwrap_or_default();
            parts.push(format!("{} unplaced{why}", self.unplaced));
        }
        if self.preempted > 0 {
            parts.push(format!("{} preempted", self.preempted));
        }
        parts.join(", ")
    }
}

/// The groups with a problem, worst first: unplaced allocations, by priority of the job, before preempted ones.
pub(super) fn problems<'a>(outcome: &'a Outcome, concerned: &[&'a Unplaced]) -> Vec<Problem<'a>> {
    let mut all: BTreeMap<&Owner, Problem<'_>> = BTreeMap::new();
    let new = |owner, priority| Problem { owner, priority, unplaced: 0, preempted: 0, metrics: None };
    for u in concerned {
        let problem = all.entry(&u.owner).or_insert_with(|| new(&u.owner, u.priority));
        problem.unplaced = problem.unplaced.saturating_add(u.count);
        problem.metrics = Some(&u.metrics);
    }
    for d in outcome.displaced.iter().filter(|d| d.cause == Cause::Preempted) {
        all.entry(&d.owner).or_insert_with(|| new(&d.owner, d.priority)).preempted += 1;
    }
    let mut all: Vec<Problem<'_>> = all.into_values().collect();
    all.sort_by_key(|p| (Reverse(p.unplaced > 0), Reverse(p.priority), Reverse(p.unplaced), Reverse(p.preempted)));
    all
}

fn print_problems(ui: &mut Ui<'_>, all: &[Problem<'_>], concerned: &[&Unplaced], extent: Extent) {
    let explained = extent >= Extent::Jobs || concerned.len() <= EXPLAINED;
    if all.is_empty() {
        return;
    }
    let shown = if extent >= Extent::Jobs { all.len() } else { MANY };
    let lines = all
        .iter()
        .take(shown)
        .map(|p| format!("{}|{}|{}|{}", cell(&job(p.owner)), cell(&p.owner.task_group), p.priority, cell(&p.text())));
    let lines = headed("Job|Group|Priority|Problem", lines);
    section(ui, "Problems, worst first", &table_of_sentences(&lines, Form::Figures));
    let rest = all.len().saturating_sub(shown);
    if rest > 0 {
        ui.output(&format!("and {rest} more"));
    }
    if explained && !concerned.is_empty() {
        ui.heading("[red]Unplaced");
        for u in concerned {
            let text = unplaced(ui, u);
            ui.output(&text);
        }
    }
}

/// The lists of jobs and allocations.
fn print_lists(ui: &mut Ui<'_>, outcome: &Outcome, waited: &[&Unplaced], extent: Extent) {
    let few = |n: usize| n > 0 && n <= MANY;
    let groups = by_group(&outcome.displaced);
    let displaced = outcome.displaced.len();
    if displaced > 0 && (extent >= Extent::Jobs || !few(displaced) && few(groups.len() - 1)) {
        section(ui, "Jobs", &table(&groups, Form::Figures));
    }
    if displaced > 0 && (extent == Extent::Allocations || few(displaced)) {
        section(ui, "Allocations", &table(&rows(outcome), Form::List));
    } else if displaced > 0 && extent == Extent::Jobs {
        section(ui, "Allocations", &left_out(displaced));
    }
    let placed = outcome.placed.len();
    if placed > 0 && (extent == Extent::Allocations || few(placed)) {
        let lines = outcome.placed.iter().map(|p| format!("{}|{}|{}", job(&p.owner), p.name, p.on.node_name));
        section(ui, "New allocations", &table(&headed("Job|Name|Node", lines), Form::List));
    } else if placed > 0 && extent == Extent::Jobs {
        let mut counts: BTreeMap<&Owner, usize> = BTreeMap::new();
        outcome.placed.iter().for_each(|p| *counts.entry(&p.owner).or_default() += 1);
        let lines = counts.iter().map(|(o, n)| format!("{}|{}|{n}", job(o), o.task_group));
        section(ui, "New allocations", &table(&headed("Job|Group|New", lines), Form::Figures));
    }
    if !waited.is_empty() && (extent >= Extent::Jobs || few(waited.len())) {
        let lines = waited.iter().map(|u| format!("{}|{}|{}", job(&u.owner), u.owner.task_group, u.count));
        section(ui, "Still waiting for capacity", &table(&headed("Job|Group|Missing", lines), Form::Figures));
    }
}

/// The text that replaces a table that is too long.
fn left_out(allocations: usize) -> String {
    format!("{allocations} allocations are not listed; use -verbose to list them")
}

/// Prints a summary before the output of another command: as a few lines, or as one line on standard error if the
/// output is for programs.
pub fn print_short(ui: &mut Ui<'_>, outcome: &Outcome, for_programs: bool) {
    if for_programs {
        return ui.warn(&format!("What if: {}. {}", outcome.changes.join(", "), summary(outcome)));
    }
    print_changes(ui, outcome);
    for u in outcome.unplaced.iter().filter(|u| !u.waited) {
        let n = u.count;
        let line = format!(
            "- WARNING: Failed to place {n} {} of group {} of job {}.",
            plural(n, "allocation", "allocations"),
            quoted(&u.owner.task_group),
            quoted(&job(&u.owner))
        );
        ui.output_markup(&format!("[bold][yellow]{line}[reset]"));
    }
    ui.output("");
}

fn print_assumptions(ui: &mut Ui<'_>, outcome: &Outcome) {
    ui.output_markup("[bold]What if:[reset]");
    for change in &outcome.changes {
        ui.output(&format!("- {change}"));
    }
}

fn print_changes(ui: &mut Ui<'_>, outcome: &Outcome) {
    print_assumptions(ui, outcome);
    ui.output(&format!("\n{}", summary(outcome)));
}

/// Summarises the displaced allocations in one sentence.
pub(super) fn summary(outcome: &Outcome) -> String {
    let all = outcome.displaced.len();
    let mut parts = Vec::new();
    for (fate, words) in [
        (Fate::Moved, "moved"),
        (Fate::Unplaced, "unplaced"),
        (Fate::Stopped, "stopped"),
        (Fate::Stays, "kept although disconnected"),
    ] {
        let n = outcome.count(None, fate);
        if n > 0 {
            parts.push(format!("{n} {words}"));
        }
    }
    let mut out = match all {
        0 => "No allocations are displaced".to_string(),
        _ => {
            let leave = counted(all, "allocation is displaced", "allocations are displaced");
            format!("{leave}: {}", parts.join(", "))
        }
    };
    let preempted = outcome.displaced.iter().filter(|d| d.cause == Cause::Preempted).count();
    if preempted > 0 {
        out.push_str(&format!("; {preempted} of them preempted"));
    }
    if !outcome.placed.is_empty() {
        let n = counted(outcome.placed.len(), "new allocation", "new allocations");
        out.push_str(&format!("; {n}"));
    }
    out.push('.');
    out
}

fn section(ui: &mut Ui<'_>, title: &str, text: &str) {
    ui.heading(title);
    ui.output(text);
}

/// The job's ID, followed by its namespace unless that is `default`.
pub(super) fn job(owner: &Owner) -> String {
    match owner.namespace.as_str() {
        "default" | "" => owner.job_id.clone(),
        namespace => format!("{}@{namespace}", owner.job_id),
    }
}

pub(super) fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Drained => "drained",
        Cause::Lost => "lost",
        Cause::Preempted => "preempted",
        Cause::Migrated => "migrated",
        Cause::Updated => "updated",
        Cause::Stopped => "stopped",
    }
}

fn by_group(displaced: &[Displaced]) -> Vec<String> {
    let mut groups: BTreeMap<(&Owner, Cause), [usize; 4]> = BTreeMap::new();
    for d in displaced {
        let counts = groups.entry((&d.owner, d.cause)).or_default();
        let column = match d.fate {
            Fate::Moved => 0,
            Fate::Unplaced => 1,
            Fate::Stopped => 2,
            Fate::Stays => 3,
        };
        counts[column] += 1;
    }
    let stays = groups.values().any(|c| c[3] > 0);
    let head = format!("Job|Group|Type|Reason|Displaced|Moved|Unplaced|Stopped{}", if stays { "|Kept" } else { "" });
    let lines = groups.iter().map(|((o, reason), counts)| {
        let [moved, unplaced, stopped, kept] = counts;
        let left: usize = counts.iter().sum();
        let kept = if stays { format!("|{kept}") } else { String::new() };
        let reason = cause(*reason);
        format!("{}|{}|{}|{reason}|{left}|{moved}|{unplaced}|{stopped}{kept}", job(o), o.task_group, o.job_type)
    });
    headed(&head, lines)
}

/// The outcome for an allocation without a successor.
pub(super) fn without_successor(fate: Fate) -> &'static str {
    match fate {
        Fate::Unplaced => "unplaced",
        Fate::Stays => "stays",
        Fate::Moved | Fate::Stopped => "stopped",
    }
}

fn rows(outcome: &Outcome) -> Vec<String> {
    let lines = outcome.displaced.iter().map(|d| {
        let to = d.to.as_ref().map_or_else(|| without_successor(d.fate), |to| to.node_name.as_str());
        let id = short_id(&d.from.alloc_id);
        format!("{id}|{}|{}|{}|{}|{to}", job(&d.owner), d.name, cause(d.cause), d.from.node_name)
    });
    headed("Alloc ID|Job|Name|Reason|From|To", lines)
}

fn unplaced(ui: &Ui<'_>, u: &Unplaced) -> Styled {
    let n = u.count;
    let words = plural(n, "allocation", "allocations");
    let head = format!("Job {}, group {} ({n} {words}):", quoted(&job(&u.owner)), quoted(&u.owner.task_group));
    let lines = metric_lines(&u.metrics, "  ", false, ui.colours_on());
    let mut text = Styled::from(head);
    if !lines.is_empty() {
        text.push("\n");
        text.push(lines);
    }
    text
}

fn room(pools: &[PoolRoom]) -> Vec<String> {
    let change = |text: &dyn Fn(&Room) -> String, p: &PoolRoom| match (text(&p.before), text(&p.after)) {
        (a, b) if a == b => a,
        (a, b) => match (a.split_once(' '), b.split_once(' ')) {
            (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} -> {b}"),
            _ => format!("{a} -> {b}"),
        },
    };
    let lines = pools.iter().map(|p| {
        format!(
            "{}|{}|{}|{}|{}",
            cell(&p.pool),
            change(&|r| r.nodes.to_string(), p),
            change(&|r| megahertz(r.cpu_free), p),
            change(&|r| megabytes(r.memory_free_mb), p),
            change(&|r| megabytes(r.disk_free_mb), p),
        )
    });
    headed("Pool|Nodes|Free CPU|Free memory|Free disk", lines)
}
