//! When periodic jobs are launched, and whether their launches fit.

use maud::{Markup, html};
use serde::Deserialize;

use super::ask::{self, Question, table, text, value, values};
use super::registered;
use crate::error::PageError;
use crate::layout::Page;
use crate::parts::command::{Command, answer};
use crate::parts::state::{Tone, state, verdict};
use crate::parts::table::facts;
use crate::parts::{form, link, plural, time, why};
use crate::visit::Visit;
use encamp_model::AllocMetric;

pub(crate) const QUESTION: Question = Question {
    path: "/ui/questions/launches",
    title: "Do the next launches fit?",
    about: "Simulate the launches of periodic jobs: when they are due, and whether their allocations can be placed on \
            the cluster as it will be then.",
};

pub(crate) const ONE_JOB: Question = Question {
    path: "/ui/questions/job-launches",
    title: "When is a periodic job launched?",
    about: "List the next launches of a periodic job, with the launches that an earlier run or a change of the clock \
            keeps from happening.",
};

/// `/ui/questions/launches`
pub(crate) async fn page(visit: &Visit) -> Result<Page, PageError> {
    let durations = values(visit, "duration");
    let fields = html! {
        div.fields {
            (form::text("next", "Period", visit.parameter("next").unwrap_or("24h"), "24h"))
            (form::lines("duration", "How long runs take, one per line", &durations, "backup=45m"))
        }
    };
    let next = value(visit, "next");
    let command =
        next.map(|_| Command::new(&["launches"]).quiet("-json").flag("next", next).flags("duration", &durations));
    ask::page(visit, &QUESTION, &fields, command, answer).await
}

answer! {
    /// The answer of `launches -json`.
    struct Launches {
        from: String, until: String, unknown: Vec<Unknown>, hours: Vec<Hour>, launches: Vec<Launch>,
        notes: Vec<String>,
    }

    struct Unknown { namespace: String, job_id = "JobID": String, error: String }

    struct Hour {
        start: String, launches: u64, skipped: u64, demand: Demand, unplaced: u64,
        least_cpu_free = "LeastCPUFree": u64, least_memory_free = "LeastMemoryFreeMB": u64,
    }

    struct Demand { allocations: u64, cpu = "CPU": u64, memory = "MemoryMB": u64 }

    struct Launch {
        time: String, namespace: String, parent_id = "ParentID": String, outcome: LaunchOutcome, preempted: u64,
        skipped: Option<Overlap>, unplaced: Vec<Unplaced>, placed_at: Option<String>,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LaunchOutcome {
    Fits,
    Unplaced,
    Skipped,
}

answer! {
    struct Overlap { job_id = "JobID": String, until: Option<String> }

    struct Unplaced { task_group: String, count: u64, metrics: AllocMetric }
}

fn answer(_: &Visit, found: &Launches) -> Markup {
    let missing: Vec<&Launch> = found.launches.iter().filter(|l| l.outcome == LaunchOutcome::Unplaced).collect();
    let tone = if missing.is_empty() { Tone::Good } else { Tone::Bad };
    let sentence = match (found.launches.len(), missing.len()) {
        (0, _) => "No job is launched in this period.".to_string(),
        (all, 0) => format!("The launches of this period fit: {all}."),
        (all, n) => format!("{n} of {} would not fit.", plural(all, "launch").replace("launchs", "launches")),
    };
    html! {
        (verdict(tone, &sentence))
        p.muted { "From " (found.from) " to " (found.until) "." }
        (ask::notes(&found.notes))
        @for u in &found.unknown { p { (link::job(&u.namespace, &u.job_id)) " has an invalid schedule: " (u.error) } }
        @if !missing.is_empty() { (launches("Launches that do not fit", &missing)) }
        (hours(&found.hours))
        (launches("Launches", &found.launches.iter().collect::<Vec<_>>()))
    }
}

fn hours(hours: &[Hour]) -> Markup {
    let columns =
        ["Hour", "Jobs#", "Skipped#", "Allocations#", "CPU#", "Memory#", "CPU free#", "Memory free#", "Unplaced#"];
    table("By hour", &columns, hours, "", |h| {
        vec![
            html! { (h.start) },
            html! { (h.launches) },
            html! { (h.skipped) },
            html! { (h.demand.allocations) },
            html! { (h.demand.cpu) " MHz" },
            html! { (h.demand.memory) " MiB" },
            html! { (h.least_cpu_free) " MHz" },
            html! { (h.least_memory_free) " MiB" },
            html! { (h.unplaced) },
        ]
    })
}

fn launches(caption: &'static str, launches: &[&Launch]) -> Markup {
    table(caption, &["Time", "Job", "Outcome", "Remark"], launches, "There are none.", |l| {
        let outcome = match l.outcome {
            LaunchOutcome::Fits => state(Tone::Good, "fits"),
            LaunchOutcome::Unplaced => state(Tone::Bad, "unplaced"),
            LaunchOutcome::Skipped => state(Tone::Warning, "skipped"),
        };
        vec![html! { (l.time) }, link::job(&l.namespace, &l.parent_id), outcome, remark(l)]
    })
}

fn remark(l: &Launch) -> Markup {
    html! {
        @for u in &l.unplaced { p { (plural(u.count, "allocation")) " of group " (u.task_group) ": " (why::summary(&u.metrics)) } }
        @if let Some(at) = &l.placed_at { p { "placed at " (at) } }
        @if let Some(overlap) = &l.skipped { p { (overlapping(overlap)) } }
        @if l.preempted > 0 { p { "preempts " (plural(l.preempted, "allocation")) } }
    }
}

fn overlapping(overlap: &Overlap) -> Markup {
    html! { (overlap.job_id) " runs" @if let Some(until) = &overlap.until { " until " (until) } @else { " without a foreseen end" } }
}

/// `/ui/questions/job-launches`
pub(crate) async fn one_job(visit: &Visit) -> Result<Page, PageError> {
    let fields = html! {
        div.fields {
            (registered::field(visit))
            (form::number("n", "Number of launches", visit.parameter("n").unwrap_or("10"), 1))
            (form::text("duration", "How long a run takes", text(visit, "duration"), "45m"))
            (form::text("from", "Launches after", text(visit, "from"), "2026-11-27T08:00:00Z"))
        }
    };
    let command = registered::named(visit).map(|(id, namespace)| {
        let command = Command::new(&["job", "launches"]).quiet("-json-output").flag("namespace", Some(namespace));
        let command = command.flag("n", value(visit, "n")).flag("duration", value(visit, "duration"));
        command.flag("from", value(visit, "from")).argument(id)
    });
    ask::page(visit, &ONE_JOB, &fields, command, job_answer).await
}

answer! {
    /// The answer of `job launches -json-output`.
    struct JobLaunches {
        namespace: String, job_id = "JobID": String, crons: Vec<String>, time_zone: String, prohibit_overlap: bool,
        inactive: Option<String>, run_time: Option<RunTime>, launches: Vec<NextLaunch>, gaps: Vec<Gap>,
    }

    struct RunTime { duration: i64, basis: String }

    struct NextLaunch { local_time: String, repeat: Option<String>, skipped: Option<Overlap> }

    struct Gap { time: String, local_times: Vec<String> }
}

fn job_answer(_: &Visit, found: &JobLaunches) -> Markup {
    let skipped = found.launches.iter().filter(|l| l.skipped.is_some()).count();
    let answer = match (&found.inactive, found.launches.first()) {
        (Some(why), _) => verdict(Tone::Warning, &format!("The job will not be launched: it is {why}.")),
        (None, None) => verdict(Tone::Warning, "The job will not be launched any more."),
        (None, Some(first)) if skipped == 0 => {
            verdict(Tone::Good, &format!("The next launch is at {}.", first.local_time))
        }
        (None, Some(_)) => {
            verdict(Tone::Warning, &format!("{skipped} of {} launches would be skipped.", found.launches.len()))
        }
    };
    html! {
        (answer)
        (facts(&[
            ("Job", link::job(&found.namespace, &found.job_id)),
            ("Schedule", html! { code { (found.crons.join(", ")) } " (" (found.time_zone) ")" }),
            ("Overlap", html! { @if found.prohibit_overlap { "prohibited" } @else { "allowed" } }),
            ("A run takes", html! { @match &found.run_time { Some(r) => { (time::duration(r.duration)) " (" (r.basis) ")" }, None => "unknown" } }),
        ]))
        (table("Launches", &["Time", "Remark"], &found.launches, "There are none.", |l| vec![
            html! { (l.local_time) },
            html! {
                @if let Some(repeat) = &l.repeat { "the " (repeat) " of two: the clock is set back. " }
                @if let Some(overlap) = &l.skipped { "skipped: " (overlapping(overlap)) }
            },
        ]))
        @for g in &found.gaps {
            p { "No launch at " (g.local_times.join(", ")) ": the clock is set forward at " (g.time) "." }
        }
    }
}
