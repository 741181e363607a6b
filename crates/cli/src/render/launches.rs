//! Text output of `job launches`: the next launches of a periodic job.

use serde::Serialize;
use serde_json::{Value, json};

use super::RenderError;
use super::json::indented;
use super::page;
use super::table::{Form, cell, headed, table_of_sentences};
use super::ui::Ui;
use super::values::{age, counted, time};
use encamp_model::{Job, SECOND, format_duration, quoted};
use encamp_plan::launches::{Basis, Forecast, Gap, Launch, Overlap, Repeat, RunTime, Runs, Schedule};
use jiff::tz::TimeZone;

/// Why a job is not launched by its schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Inactive {
    /// Its periodic block is disabled.
    Disabled,
    /// It is stopped.
    Stopped,
    /// It is parameterized: what is dispatched is launched periodically.
    Parameterized,
}

impl Inactive {
    /// Why this job is not launched; `None` if it is.
    pub fn of(job: &Job) -> Option<Inactive> {
        if job.stop {
            return Some(Inactive::Stopped);
        }
        if job.is_parameterized() {
            return Some(Inactive::Parameterized);
        }
        job.periodic.as_ref().filter(|p| !p.enabled).map(|_| Inactive::Disabled)
    }

    fn text(self) -> &'static str {
        match self {
            Inactive::Disabled => "its periodic block is disabled",
            Inactive::Stopped => "it is stopped",
            Inactive::Parameterized => "it is parameterized, so that only dispatched jobs are launched periodically",
        }
    }
}

/// The data to print.
pub struct View {
    /// The job.
    pub job: Job,
    /// Its schedule.
    pub schedule: Schedule,
    /// Why it is not launched, if it is not.
    pub inactive: Option<Inactive>,
    /// Its runs.
    pub runs: Runs,
    /// How long a run is expected to take.
    pub run_time: Option<RunTime>,
    /// Its launches.
    pub forecast: Forecast,
    /// The time after which launches are listed, Unix nanoseconds.
    pub from: i64,
}

impl View {
    fn prohibits_overlap(&self) -> bool {
        self.job.periodic.as_ref().is_some_and(|p| p.prohibit_overlap)
    }

    fn crons(&self) -> Vec<&str> {
        self.job.periodic.iter().flat_map(|p| p.cron_specs()).collect()
    }
}

/// A launch, or launches that a change of the clock leaves out.
enum Row<'a> {
    Launch(&'a Launch),
    Gap(&'a Gap),
}

/// Formats the data as JSON (`docs/reference/job-launches.schema.json`).
///
/// # Errors
/// The data has no JSON form.
pub fn json(view: &View) -> Result<String, RenderError> {
    let zone = view.schedule.zone();
    let utc = |nanos: i64| time(nanos, &TimeZone::UTC);
    let overlap = |o: &Overlap| json!({"JobID": o.child, "Until": o.until.map(utc)});
    let launches: Vec<Value> = (view.forecast.launches.iter())
        .map(|l| {
            json!({
                "Time": utc(l.at), "LocalTime": time(l.at, zone), "JobID": l.child, "Repeat": l.repeat,
                "Skipped": l.skipped.as_ref().map(overlap),
            })
        })
        .collect();
    let gaps: Vec<Value> = (view.forecast.gaps.iter())
        .map(|g| {
            let times: Vec<String> = g.times.iter().map(ToString::to_string).collect();
            json!({"Time": utc(g.at), "From": g.from.to_string(), "To": g.to.to_string(), "LocalTimes": times})
        })
        .collect();
    let running: Vec<Value> = (view.runs.running.iter())
        .map(|r| {
            let until = view.run_time.and_then(|time| time.end(r.began, view.from));
            json!({"JobID": r.child, "Began": utc(r.began), "Until": until.map(utc)})
        })
        .collect();
    indented(&json!({
        "SchemaVersion": 1,
        "Namespace": view.job.namespace,
        "JobID": view.job.id,
        "Crons": view.crons(),
        "TimeZone": view.job.periodic.as_ref().map(|p| zone_name(&p.time_zone)),
        "ProhibitOverlap": view.prohibits_overlap(),
        "Inactive": view.inactive,
        "From": utc(view.from),
        "RunTime": view.run_time.map(run_time_value),
        "Running": running,
        "Launches": launches,
        "Gaps": gaps,
    }))
}

/// A run time as JSON.
pub(super) fn run_time_value(time: RunTime) -> Value {
    let past = match time.basis {
        Basis::Past(p) => json!({"Count": p.runs, "Shortest": p.shortest, "Median": p.median, "Longest": p.longest}),
        Basis::Given | Basis::Limit | Basis::Assumed => Value::Null,
    };
    json!({"Duration": time.nanos, "Basis": time.basis.kind(), "FinishedRuns": past})
}

/// The name of a zone as it counts.
fn zone_name(written: &str) -> &str {
    if written.is_empty() { "UTC" } else { written }
}

/// Prints it.
pub fn print(ui: &mut Ui<'_>, view: &View, verbose: bool) {
    let crons: Vec<String> = view.crons().into_iter().map(quoted).collect();
    let zone = view.job.periodic.as_ref().map_or("", |p| zone_name(&p.time_zone));
    let line = format!("Job {} is launched at {}, time zone {zone}.", quoted(&view.job.id), crons.join(" and "));
    ui.output(&page::sentence(&line));
    if let Some(line) = overlap_line(view) {
        ui.output(&page::sentence(&line));
    }
    if let Some(why) = view.inactive {
        return ui.output_markup(&format!("\n[bold][yellow]The job is not launched: {}.[reset]", why.text()));
    }
    if view.forecast.launches.is_empty() {
        return ui.output_markup(&format!(
            "\n[bold][yellow]There is no launch after {}.[reset]",
            time(view.from, view.schedule.zone())
        ));
    }
    ui.output(&format!("\n{}", spaced(&rows(view, verbose))));
    if let Some(line) = conclusion(view) {
        ui.output(&format!("\n{}", page::sentence(&line)));
    }
}

/// The line about overlap; `None` if the job permits it.
fn overlap_line(view: &View) -> Option<String> {
    let line = view.prohibits_overlap().then_some("Overlap is prohibited. ")?;
    let rest = match view.run_time {
        None => {
            "No finished run is known, so that no skip is foreseen: -duration says how long a run takes.".to_string()
        }
        Some(time) => format!("A run is expected to take {}.", expected(time)),
    };
    Some(format!("{line}{rest}"))
}

/// How long a run is expected to take, and why.
pub(super) fn expected(time: RunTime) -> String {
    let took = rounded(time.nanos);
    match time.basis {
        Basis::Given => format!("{took} (-duration)"),
        Basis::Limit => format!("{took} (max_run_duration)"),
        Basis::Assumed => format!("{took} (assumed)"),
        Basis::Past(p) if p.runs == 1 => format!("{took} (as the finished run)"),
        Basis::Past(p) => {
            let (shortest, longest) = (rounded(p.shortest), rounded(p.longest));
            format!("{took} (median of {} finished runs, {shortest} to {longest})", p.runs)
        }
    }
}

/// A duration in whole seconds.
fn rounded(nanos: i64) -> String {
    format_duration(nanos.div_euclid(SECOND).saturating_mul(SECOND))
}

/// How long after a time another one is, in its two largest units.
pub(super) fn after(from: i64, at: i64) -> String {
    age(at, from).trim_end_matches(" from now").to_string()
}

/// A table whose last column holds sentences or nothing.
pub(super) fn spaced(lines: &[String]) -> String {
    let text = table_of_sentences(lines, Form::Spaced);
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The rows of launches and of gaps, in order of time.
fn rows(view: &View, verbose: bool) -> Vec<String> {
    let launches = view.forecast.launches.iter().map(|l| (l.at, Row::Launch(l)));
    let mut all: Vec<(i64, Row<'_>)> = launches.chain(view.forecast.gaps.iter().map(|g| (g.at, Row::Gap(g)))).collect();
    // At the same time, what is left out comes first.
    all.sort_by_key(|(at, row)| (*at, matches!(row, Row::Launch(_))));
    let child = |text: &str| if verbose { format!("|{}", cell(text)) } else { String::new() };
    let line = |(_, row): &(i64, Row<'_>)| match row {
        Row::Launch(l) => {
            let (at, after) = (time(l.at, view.schedule.zone()), after(view.from, l.at));
            format!("{at}|{after}{}|{}", child(&l.child), cell(&note(l, view.schedule.zone())))
        }
        Row::Gap(g) => format!("none|{}|{}", child(""), cell(&gap(g))),
    };
    let head = if verbose { "Launch|After|Job|Note" } else { "Launch|After|Note" };
    headed(head, all.iter().map(line))
}

/// What is special about a launch.
fn note(launch: &Launch, zone: &TimeZone) -> String {
    let repeat = launch.repeat.map(repeated).map(String::from);
    let skipped = launch.skipped.as_ref().map(|o| format!("skipped: {}", in_the_way(o, zone)));
    repeat.into_iter().chain(skipped).collect::<Vec<_>>().join("; ")
}

pub(super) fn repeated(repeat: Repeat) -> &'static str {
    match repeat {
        Repeat::First => "first of two: the clock is set back",
        Repeat::Second => "second of two: the clock was set back",
    }
}

/// The run that keeps a launch from happening.
pub(super) fn in_the_way(overlap: &Overlap, zone: &TimeZone) -> String {
    match overlap.until {
        Some(until) => format!("{} runs until {}", overlap.child, time(until, zone)),
        None => format!("{} runs, no end is foreseen", overlap.child),
    }
}

/// The launches that a change of the clock leaves out.
fn gap(gap: &Gap) -> String {
    let clock = format!("the clock is set forward from {} to {}", gap.from.strftime("%H:%M"), gap.to.strftime("%H:%M"));
    match (gap.times.first(), gap.times.last()) {
        (Some(first), Some(last)) if first != last => {
            let n = counted(gap.times.len(), "launch", "launches");
            format!("{n} left out, {} to {}: {clock}", first.strftime("%Y-%m-%d %H:%M"), last.strftime("%H:%M"))
        }
        (Some(only), _) => format!("no launch at {}: {clock}", only.strftime("%Y-%m-%d %H:%M")),
        (None, _) => clock,
    }
}

/// The sentence below the table; `None` if there is nothing to say.
fn conclusion(view: &View) -> Option<String> {
    let all = &view.forecast.launches;
    let skipped = all.iter().filter(|l| l.skipped.is_some()).count();
    (skipped > 0).then(|| {
        format!(
            "{skipped} of {} would be skipped, since an earlier run goes on.",
            counted(all.len(), "launch", "launches")
        )
    })
}
