//! The report of `job plan`.

use maud::{Markup, html};

use super::heat::Heat;
use super::page::{Origin, Page, Section};
use super::parts::{Columns, code, lines, list, name, sentence, table, why};
use super::{diff, map};
use crate::render::plan::{self, PlanView};
use crate::render::plan_summary::{Severity, answer};
use crate::render::values::counted;
use crate::render::what_if;
use encamp_model::{AllocMetric, DiffType, quoted, short_id};
use encamp_plan::review::{Outcome, Touched};
use encamp_plan::tally::Tally;
use encamp_plan::what_if::Outcome as Assumed;

/// A planned job.
pub struct PlannedJob<'a> {
    /// Its plan.
    pub view: PlanView<'a>,
    /// Its job file.
    pub path: &'a str,
    /// Its ID.
    pub id: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its priority.
    pub priority: i64,
    /// What the plan does.
    pub outcome: &'a Outcome,
    /// The output of `-explain`, with tags.
    pub explanation: Option<String>,
    /// The output of `-rollout`, with tags.
    pub rollout: Option<String>,
}

/// What is common to all jobs of a report.
pub struct Plans<'a> {
    /// The state that the plans were made on.
    pub origin: &'a Origin,
    /// The outcome of the assumed changes.
    pub assumed: Option<&'a Assumed>,
    /// The usage of the nodes of the cluster as it is, and after the assumed changes and all plans.
    pub heat: &'a Heat,
    /// The conditions of `-fail-on` that hold.
    pub failures: &'a [String],
    /// The differences to the plan of the servers.
    pub disagreements: &'a [String],
    /// Notes about the state and the assumptions.
    pub notes: &'a [String],
    /// The number of jobs that could not be planned.
    pub unplanned: usize,
}

/// The report about one job.
pub fn report(job: &PlannedJob<'_>, plans: &Plans<'_>) -> String {
    let (verdict, severity) = answer(&job.view.effects.tally);
    let mut sections = common(plans);
    sections.extend(job_sections(job, ""));
    sections.extend(last(plans));
    let page = Page {
        command: "job plan",
        title: html! { "Plan of job " (code(job.id)) },
        plain_title: format!("Plan of job {}", name(job.id)),
        verdict: &verdict,
        severity,
        summary: tiles(&job.view.effects.tally),
        facts: facts(job),
        origin: plans.origin,
        sections,
    };
    page.document()
}

/// The report about several jobs, in the order in which they are planned.
pub fn reports(jobs: &[PlannedJob<'_>], plans: &Plans<'_>) -> String {
    let (verdict, severity) = verdict(jobs, plans.unplanned);
    let mut sections = common(plans);
    sections.push(Section::new("jobs", "Jobs", overview(jobs)));
    for (i, job) in jobs.iter().enumerate() {
        let facts = facts(job);
        let (text, _) = answer(&job.view.effects.tally);
        let body = html! {
            p { strong { (sentence(&text)) } }
            dl.facts { @for (name, value) in &facts { dt { (name) } dd { (value) } } }
            @for section in job_sections(job, &format!("job-{i}-")) { (section.markup(3)) }
        };
        sections.push(Section::new(job_id(i), format!("Job {}", name(job.id)), body));
    }
    sections.extend(last(plans));
    let title = format!("Plan of {}", counted(jobs.len(), "job", "jobs"));
    let page = Page {
        command: "job plan",
        title: html! { (title) },
        plain_title: title.clone(),
        verdict: &verdict,
        severity,
        summary: html! {},
        facts: Vec::new(),
        origin: plans.origin,
        sections,
    };
    page.document()
}

fn job_id(i: usize) -> String {
    format!("job-{i}")
}

/// The answer about several jobs.
fn verdict(jobs: &[PlannedJob<'_>], unplanned: usize) -> (String, Severity) {
    let of = |severity: Severity| jobs.iter().filter(|job| answer(&job.view.effects.tally).1 == severity).count();
    let (failing, disruptive) = (of(Severity::Failing), of(Severity::Disruptive));
    let mut parts = Vec::new();
    if unplanned > 0 {
        parts.push(format!("{} could not be planned", counted(unplanned, "job", "jobs")));
    }
    if failing > 0 {
        let plans = counted(failing, "plan leaves", "plans leave");
        parts.push(format!("{plans} allocations unplaced or would be rejected in part"));
    }
    if disruptive > 0 {
        let plans = counted(disruptive, "plan stops, replaces or evicts", "plans stop, replace or evict");
        parts.push(format!("{plans} allocations"));
    }
    if parts.is_empty() {
        parts.push("everything is placed, and no allocation is stopped, replaced or evicted".into());
    }
    let severity = match (unplanned.max(failing), disruptive) {
        (0, 0) => Severity::Harmless,
        (0, _) => Severity::Disruptive,
        _ => Severity::Failing,
    };
    (parts.join("; "), severity)
}

/// What concerns all jobs and comes first.
fn common(plans: &Plans<'_>) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut some = |id: &str, title: &str, lines: &[String]| {
        if !lines.is_empty() {
            sections.push(Section::new(id, title, list(lines)));
        }
    };
    some("conditions", "Conditions of -fail-on that hold", plans.failures);
    some("servers", "Differences to the plan of the servers", plans.disagreements);
    if let Some(assumed) = plans.assumed {
        let (concerned, _): (Vec<_>, Vec<_>) = assumed.unplaced.iter().partition(|u| !u.waited);
        let short: Vec<String> = concerned
            .iter()
            .map(|u| {
                let (n, group, job) = (u.count, quoted(&u.owner.task_group), quoted(&what_if::job(&u.owner)));
                format!("{} of group {group} of job {job} would be unplaced", counted(n, "allocation", "allocations"))
            })
            .collect();
        let body = html! {
            p { "The plan is made on the cluster after these changes:" }
            (list(&assumed.changes))
            p { (sentence(&what_if::summary(assumed))) }
            @if !short.is_empty() { (list(&short)) }
        };
        sections.push(Section::new("assumed", "Assumed changes", body));
    }
    sections
}

/// What concerns all jobs and comes last.
fn last(plans: &Plans<'_>) -> Vec<Section> {
    let mut sections = vec![Section::new("nodes", "Nodes before and after", map::section(plans.heat))];
    if !plans.notes.is_empty() {
        sections.push(Section::new("notes", "Notes", list(plans.notes)));
    }
    sections
}

/// New allocations that replace none.
fn placed(tally: &Tally) -> u64 {
    tally.sum(|g| g.placed.saturating_add(g.canaries))
}

/// Allocations for which no node is found.
fn unplaced(tally: &Tally) -> u64 {
    tally.sum(|g| g.unplaced.saturating_add(g.unreplaced))
}

/// The counts that matter, as large numbers.
fn tiles(tally: &Tally) -> Markup {
    let always = [(placed(tally), "to place", ""), (tally.sum(|g| g.replaced), "to replace", "warn")];
    let others = [
        (tally.sum(|g| g.updated), "to update in place", ""),
        (tally.sum(|g| g.stopped), "to stop", "warn"),
        (tally.sum(|g| g.rejected), "rejected by servers", "bad"),
    ];
    let end = [(tally.evictions(), "evicted", "warn"), (unplaced(tally), "unplaced", "bad")];
    let all = always.into_iter().chain(others.into_iter().filter(|(n, ..)| *n > 0)).chain(end);
    html! {
        ul.counts aria-label="Numbers of allocations" {
            @for (n, what, class) in all {
                li class=[Some(class).filter(|c| n > 0 && !c.is_empty())] { b { (n) } " " (what) }
            }
        }
    }
}

fn facts(job: &PlannedJob<'_>) -> Vec<(&'static str, Markup)> {
    let kind = job.view.plan.diff.as_ref().map_or(&DiffType::None, |d| &d.r#type);
    let change = match kind {
        DiffType::Added => "new job",
        DiffType::Edited => "changed",
        DiffType::Deleted => "deleted",
        DiffType::None | DiffType::Unset | DiffType::Other(_) => "unchanged",
    };
    vec![
        ("Job file", code(job.path)),
        ("Namespace", code(job.namespace)),
        ("Type and priority", html! { (name(job.view.job_type.as_str())) ", " (job.priority) ", " (change) }),
    ]
}

/// The table of all jobs.
fn overview(jobs: &[PlannedJob<'_>]) -> Markup {
    const TITLES: Columns = Columns(&[
        ("Job", false),
        ("Priority", true),
        ("Place", true),
        ("Replace", true),
        ("In place", true),
        ("Stop", true),
        ("Evicted", true),
        ("Rejected", true),
        ("Unplaced", true),
    ]);
    let rows = jobs.iter().enumerate().map(|(i, job)| {
        let t = &job.view.effects.tally;
        let counts = [
            placed(t),
            t.sum(|g| g.replaced),
            t.sum(|g| g.updated),
            t.sum(|g| g.stopped),
            t.evictions(),
            t.sum(|g| g.rejected),
            unplaced(t),
        ];
        let mut row = vec![html! { a href={ "#" (job_id(i)) } { (code(job.id)) } }, html! { (job.priority) }];
        row.extend(counts.iter().map(|n| html! { (n) }));
        row
    });
    table("Jobs in the order of planning", &TITLES, rows)
}

/// The sections about a job: problems first.
fn job_sections(job: &PlannedJob<'_>, prefix: &str) -> Vec<Section> {
    let (view, outcome) = (&job.view, job.outcome);
    let mut sections = Vec::new();
    let mut push = |id: &str, title: &str, body: Markup| {
        sections.push(Section::new(format!("{prefix}{id}"), title, body));
    };
    if !view.plan.failed_tg_allocs.is_empty() {
        let groups: Vec<(&String, &AllocMetric)> = view.plan.failed_tg_allocs.iter().collect();
        let body = html! {
            @for (group, metric) in groups.iter().take(super::parts::MOST_ROWS) {
                p {
                    strong { "Group " (code(group)) ": " (counted(metric.failures(), "allocation", "allocations")) }
                    " cannot be placed:"
                }
                (why(metric))
            }
            (super::parts::rest(groups.len().saturating_sub(super::parts::MOST_ROWS)))
        };
        push("unplaced", "Unplaced groups", body);
    }
    if !view.plan.plan_rejections.is_empty() {
        let what = if view.all_at_once { "the whole plan, because it is all at once" } else { "a part of this plan" };
        let lines: Vec<String> = view.plan.plan_rejections.iter().map(plan::rejection).collect();
        push("rejected", "Rejections", html! { p { "The servers would reject " (what) ":" } (list(&lines)) });
    }
    if !outcome.evictions.is_empty() {
        push("evictions", "Evictions", evictions(&outcome.evictions));
    }
    if !view.plan.warnings.trim().is_empty() {
        push("warnings", "Warnings", lines("Warnings", &view.plan.warnings));
    }
    if !outcome.counts.is_empty() {
        push("groups", "Changes by group", groups(job));
    }
    if let (true, Some(d)) = (view.diff, &view.plan.diff) {
        push("diff", "Diff", diff::job(d, view.verbose));
    }
    push("placements", "Placements", placements(outcome));
    for (id, title, touched) in [("stops", "Stops", &outcome.stops), ("updates", "In-place updates", &outcome.updates)]
    {
        if !touched.is_empty() {
            push(id, title, stops(title, touched));
        }
    }
    if let Some(text) = &job.rollout {
        push("rollout", "Predicted rollout", lines("Predicted rollout", text));
    }
    if let Some(text) = &job.explanation {
        push("explanation", "Explanation", lines("Explanation", text));
    }
    let submit = html! {
        p { "With this command, the job is only registered if nobody has changed it since the plan:" }
        (lines("Command", &plan::run_command(view)))
    };
    push("submit", "Register the job", submit);
    sections
}

fn groups(job: &PlannedJob<'_>) -> Markup {
    const TITLES: Columns = Columns(&[
        ("Group", false),
        ("Create", true),
        ("Canary", true),
        ("Replace", true),
        ("Migrate", true),
        ("In place", true),
        ("Stop", true),
        ("Unchanged", true),
        ("Unplaced", true),
    ]);
    let rows = job.outcome.counts.iter().map(|(group, u)| {
        let unplaced = job.outcome.unplaced.get(group).copied().unwrap_or_default();
        let counts =
            [u.place, u.canary, u.destructive_update, u.migrate, u.in_place_update, u.stop, u.ignore, unplaced];
        std::iter::once(code(group)).chain(counts.iter().map(|n| html! { (n) })).collect()
    });
    table("Allocations by group", &TITLES, rows)
}

fn placements(outcome: &Outcome) -> Markup {
    const TITLES: Columns =
        Columns(&[("Allocation", false), ("Node", false), ("Node ID", false), ("Replaces", false), ("Canary", false)]);
    if outcome.placements.is_empty() {
        return html! { p { "No allocation is placed." } };
    }
    let rows = outcome.placements.iter().map(|p| {
        let replaces = if p.previous.is_empty() {
            html! { "-" }
        } else {
            code(short_id(&p.previous))
        };
        let canary = html! { @if p.canary { "yes" } @else { "no" } };
        vec![code(&p.name), code(&p.node_name), code(short_id(&p.node_id)), replaces, canary]
    });
    table("New allocations", &TITLES, rows)
}

fn stops(title: &str, touched: &[Touched]) -> Markup {
    const TITLES: Columns = Columns(&[("Allocation", false), ("Alloc ID", false), ("Node", false), ("Node ID", false)]);
    let rows = touched
        .iter()
        .map(|t| vec![code(&t.name), code(short_id(&t.alloc_id)), code(&t.node_name), code(short_id(&t.node_id))]);
    table(title, &TITLES, rows)
}

fn evictions(evicted: &[Touched]) -> Markup {
    const TITLES: Columns = Columns(&[
        ("Allocation", false),
        ("Alloc ID", false),
        ("Job", false),
        ("Namespace", false),
        ("Group", false),
        ("Node", false),
    ]);
    let rows = evicted.iter().map(|t| {
        let id = code(short_id(&t.alloc_id));
        vec![code(&t.name), id, code(&t.job_id), code(&t.namespace), code(&t.task_group), code(&t.node_name)]
    });
    table("Allocations of other jobs that are evicted", &TITLES, rows)
}
