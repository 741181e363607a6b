//! Text output of `launches`: the launches of a cluster's periodic jobs, and whether they fit.

use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::RenderError;
use super::json::indented;
use super::launches::{after, expected, in_the_way, repeated, run_time_value, spaced};
use super::metrics::main_reason;
use super::page;
use super::plan_summary::Severity;
use super::table::{Form, cell, headed, table};
use super::ui::Ui;
use super::values::{counted, megabytes, megahertz, time};
use encamp_model::{Job, format_duration, quoted};
use encamp_plan::launches::{BasisKind, Calendar, Hour, Launched, Outcome, Overlap, Unplaced};

/// The data to print.
pub struct View {
    /// The launches.
    pub calendar: Calendar,
    /// The beginning of the period, Unix nanoseconds.
    pub from: i64,
    /// The end of the period, Unix nanoseconds.
    pub until: i64,
    /// How long runs are assumed to take of which nothing is known, nanoseconds.
    pub assumed: i64,
    /// The zone of the output.
    pub zone: TimeZone,
}

/// Formats the data as JSON (`docs/reference/launches.schema.json`).
///
/// # Errors
/// The data has no JSON form.
pub fn json(view: &View) -> Result<String, RenderError> {
    let c = &view.calendar;
    let jobs: Vec<Value> = (c.jobs.iter())
        .map(|j| {
            json!({
                "Namespace": j.job.namespace, "JobID": j.job.id, "Priority": j.job.priority,
                "RunTime": run_time_value(j.run_time),
            })
        })
        .collect();
    let unknown: Vec<Value> = (c.unknown.iter())
        .map(|u| json!({"Namespace": u.job.namespace, "JobID": u.job.id, "Error": u.error.to_string()}))
        .collect();
    let hours = c.hours.iter().map(hour_value).collect::<Result<Vec<Value>, RenderError>>()?;
    let launches = c.launches.iter().map(launch_value).collect::<Result<Vec<Value>, RenderError>>()?;
    indented(&json!({
        "SchemaVersion": 1,
        "From": utc(view.from),
        "Until": utc(c.until),
        "Jobs": jobs,
        "Unknown": unknown,
        "Hours": hours,
        "Launches": launches,
        "Notes": c.notes,
    }))
}

fn utc(nanos: i64) -> String {
    time(nanos, &TimeZone::UTC)
}

fn hour_value(hour: &Hour) -> Result<Value, RenderError> {
    let mut value = serde_json::to_value(hour)?;
    if let Value::Object(members) = &mut value {
        members.insert("Start".into(), utc(hour.start).into());
    }
    Ok(value)
}

fn launch_value(l: &Launched) -> Result<Value, RenderError> {
    let (outcome, skipped, groups, placed_at) = match &l.outcome {
        Outcome::Fits => ("fits", None, &[][..], None),
        Outcome::Unplaced { groups, placed_at } => ("unplaced", None, groups.as_slice(), *placed_at),
        Outcome::Skipped(overlap) => ("skipped", Some(overlap), &[][..], None),
    };
    let overlap = |o: &Overlap| json!({"JobID": o.child, "Until": o.until.map(utc)});
    let one = |u: &Unplaced| json!({"TaskGroup": u.task_group, "Count": u.count, "Metrics": u.metrics});
    Ok(json!({
        "Time": utc(l.at), "Namespace": l.job.namespace, "ParentID": l.job.id, "JobID": l.child, "Repeat": l.repeat,
        "Outcome": outcome, "Demand": serde_json::to_value(l.demand)?, "Preempted": l.preempted,
        "Skipped": skipped.map(overlap), "Unplaced": groups.iter().map(one).collect::<Vec<_>>(),
        "PlacedAt": placed_at.map(utc),
    }))
}

/// Prints it: the answer first, then the load of each hour, then what does not fit.
pub fn print(ui: &mut Ui<'_>, view: &View, all: bool) {
    let c = &view.calendar;
    let (verdict, severity) = verdict(c);
    ui.output_markup(&format!("{}{}[reset]", severity.tags(), page::sentence(&verdict)));
    let period = format!("From {} to {}.{}", time(view.from, &view.zone), time(c.until, &view.zone), assumed(view));
    ui.output(&page::sentence(&period));
    for line in
        c.notes.iter().cloned().chain(c.unknown.iter().map(|u| format!("Job {}: {}", quoted(&job(&u.job)), u.error)))
    {
        ui.output(&page::sentence(&line));
    }
    if c.launches.is_empty() {
        return;
    }
    let busy = |h: &&Hour| h.launches > 0 || h.skipped > 0;
    let rows = c.hours.iter().filter(busy).map(|h| hour(h, &view.zone));
    let head = "Hour|Jobs|Allocs|CPU|Memory|CPU free|Mem free|Unplaced";
    ui.output(&format!("\n{}", table(&headed(head, rows), Form::Figures)));
    let misfits: Vec<String> = c.misfits().map(|l| misfit(l, view)).collect();
    section(ui, "Launches that do not fit", "Launch|Job|Missing|Placed|Reason", misfits);
    let skipped = |l: &&Launched| matches!(l.outcome, Outcome::Skipped(_));
    let skips: Vec<String> = c.launches.iter().filter(skipped).map(|l| row(l, view)).collect();
    if all {
        section(ui, "Launches", "Launch|Job|Allocs|Note", c.launches.iter().map(|l| row(l, view)).collect());
        let times = c.jobs.iter().map(|j| format!("{}|{}", cell(&job(&j.job)), cell(&expected(j.run_time))));
        section(ui, "Expected run times", "Job|A run takes", times.collect());
    } else {
        section(ui, "Launches that are skipped", "Launch|Job|Allocs|Note", skips);
    }
}

/// The answer, and how bad it is.
fn verdict(c: &Calendar) -> (String, Severity) {
    let skipped = c.launches.iter().filter(|l| matches!(l.outcome, Outcome::Skipped(_))).count();
    let launched = c.launches.len().saturating_sub(skipped);
    let misfits = c.misfits().count();
    let preempted: usize = c.launches.iter().map(|l| l.preempted).sum();
    let mut out = match (launched, misfits) {
        (0, _) if skipped == 0 => return ("No job is launched.".into(), Severity::Harmless),
        (0, _) => "No job is launched".into(),
        (1, 0) => "1 launch fits".into(),
        (n, 0) => format!("All {n} launches fit"),
        (n, misfits) => format!("{misfits} of {} would not fit", counted(n, "launch", "launches")),
    };
    if preempted > 0 {
        out.push_str(&format!("; {} would be preempted", counted(preempted, "allocation", "allocations")));
    }
    if skipped > 0 {
        let skips = counted(skipped, "launch would be skipped", "launches would be skipped");
        out.push_str(&format!("; {skips}, since an earlier run goes on"));
    }
    let severity = match (misfits, preempted) {
        (0, 0) => Severity::Harmless,
        (0, _) => Severity::Disruptive,
        (_, _) => Severity::Failing,
    };
    (format!("{out}."), severity)
}

/// The sentence about run times that are only assumed; empty if there are none.
fn assumed(view: &View) -> String {
    let n = view.calendar.jobs.iter().filter(|j| j.run_time.basis.kind() == BasisKind::Assumed).count();
    if n == 0 {
        return String::new();
    }
    let jobs = counted(n, "job", "jobs");
    format!(" Of {jobs} no run time is known: {} is assumed (-duration).", format_duration(view.assumed))
}

fn hour(h: &Hour, zone: &TimeZone) -> String {
    let d = &h.demand;
    let (cpu, memory) = (megahertz(d.cpu), megabytes(d.memory_mb));
    let (cpu_free, memory_free) = (megahertz(h.least_cpu_free), megabytes(h.least_memory_free_mb));
    let at = short(h.start, zone);
    format!("{at}|{}|{}|{cpu}|{memory}|{cpu_free}|{memory_free}|{}", h.launches, d.allocations, h.unplaced)
}

/// A time in a table: month, day, hour and minute.
fn short(nanos: i64, zone: &TimeZone) -> String {
    let at = jiff::Timestamp::from_nanosecond(i128::from(nanos)).map(|t| t.to_zoned(zone.clone()));
    at.map(|at| at.strftime("%m-%d %H:%M").to_string()).unwrap_or_default()
}

fn misfit(l: &Launched, view: &View) -> String {
    let Outcome::Unplaced { groups, placed_at } = &l.outcome else { return String::new() };
    let missing = groups.iter().map(|g| g.count).fold(0, i64::saturating_add);
    let placed = placed_at.map_or_else(|| "never".to_string(), |at| format!("{} later", after(l.at, at)));
    let reasons: Vec<String> = groups.iter().filter_map(|g| main_reason(&g.metrics)).collect();
    let reason = reasons.first().map(String::as_str).unwrap_or_default();
    format!("{}|{}|{missing}|{placed}|{}", short(l.at, &view.zone), cell(&job(&l.job)), cell(reason))
}

/// A launch in the list of all.
fn row(l: &Launched, view: &View) -> String {
    let outcome = match &l.outcome {
        Outcome::Fits => None,
        Outcome::Unplaced { groups, placed_at } => {
            let missing = groups.iter().map(|g| g.count).fold(0, i64::saturating_add);
            let placed = placed_at.map(|at| format!(", placed {} later", after(l.at, at)));
            Some(format!("{missing} unplaced{}", placed.unwrap_or_default()))
        }
        Outcome::Skipped(overlap) => Some(format!("skipped: {}", in_the_way(overlap, &view.zone))),
    };
    let preempted =
        (l.preempted > 0).then(|| format!("preempts {}", counted(l.preempted, "allocation", "allocations")));
    let repeat = l.repeat.map(repeated).map(String::from);
    let note = repeat.into_iter().chain(outcome).chain(preempted).collect::<Vec<_>>().join("; ");
    format!("{}|{}|{}|{}", short(l.at, &view.zone), cell(&job(&l.job)), l.demand.allocations, cell(&note))
}

/// The job's ID, followed by its namespace unless that is `default`.
fn job(job: &Job) -> String {
    match job.namespace.as_str() {
        "default" | "" => job.id.clone(),
        namespace => format!("{}@{namespace}", job.id),
    }
}

fn section(ui: &mut Ui<'_>, title: &str, head: &str, rows: Vec<String>) {
    if !rows.is_empty() {
        ui.output_markup(&format!("\n[bold]{title}[reset]"));
        ui.output(&spaced(&headed(head, rows)));
    }
}
