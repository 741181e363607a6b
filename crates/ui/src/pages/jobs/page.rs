//! The page of a job: its state, why allocations are unplaced, groups, deployment, allocations, launched jobs, actions.

use encamp_acl::Capability;
use encamp_model::responses::JobScaleStatus;
use encamp_model::{EvalStatus, TaskGroupSummary};
use maud::{Markup, html};

use super::{forms, job_page, named, read, table as job_table, tabs};
use crate::error::PageError;
use crate::layout::Page;
use crate::pages::allocations::{self, exec};
use crate::pages::data::{Alloc, Deployment, Eval, Job, JobAction, JobCounts, JobRow};
use crate::pages::deployments;
use crate::parts::listing::{Request, quoted};
use crate::parts::table::{Table, facts};
use crate::parts::{link, state, time, why};
use crate::visit::{Visit, path};

/// The newest allocations and launched jobs that the page shows.
const NEWEST: usize = 10;
/// With more allocations than this, those of a job are read page by page.
const LONG: i64 = 1000;

/// `/ui/jobs/{job}`
pub(super) async fn page(visit: &Visit) -> Result<Page, PageError> {
    let (id, namespace) = named(visit);
    let query = [("namespace", namespace)];
    let below = |part| path("/v1/job/", id, part);
    let (summary, evaluations, deployment) = (below("/summary"), below("/evaluations"), below("/deployment"));
    let (job, counts, evaluations, deployment) = tokio::try_join!(
        read(visit),
        visit.find::<JobCounts>(&summary, &query),
        visit.read::<Vec<Eval>>(&evaluations, &query),
        visit.read::<Option<Deployment>>(&deployment, &query),
    )?;
    let counts = counts.unwrap_or_default();
    let body = html! {
        (state_of(visit, &job))
        (forms::of_job(visit, &job))
        (unplaced(visit, &evaluations))
        @if let Some(deployment) = deployment.filter(Deployment::is_active) {
            h2 { "Active deployment" }
            (deployments::summary(visit, &deployment))
        }
        @if job.periodic.is_some() || job.parameterized_job.is_some() {
            (children(visit, &job).await?)
        } @else {
            h2 { "Task groups" }
            (groups(visit, &job, &counts))
            h2 { "Newest allocations" }
            (newest(visit, &job, &counts).await?)
        }
        (scaling(visit, &job).await?)
        (actions(visit, &job).await)
    };
    Ok(job_page(visit, &job, &body))
}

fn state_of(visit: &Visit, job: &Job) -> Markup {
    let status = html! {
        (state::of(&job.status))
        @if job.stop { " (stopped)" }
        @if !job.status_description.is_empty() { " " span.muted { (job.status_description) } }
    };
    let mut rows = vec![
        ("Status", status),
        ("Type", html! { (job.kind) }),
        ("Priority", html! { (job.priority) }),
        ("Namespace", html! { (job.namespace) }),
        ("Node pool", html! { (job.node_pool) }),
        ("Datacenters", html! { (job.datacenters.join(", ")) }),
        ("Version", html! { (job.version) @if job.stable { " (stable)" } }),
        ("Submitted", time::moment(visit, job.submit_time)),
    ];
    if let Some(periodic) = &job.periodic {
        let specs: Vec<_> = std::iter::once(&periodic.spec).chain(&periodic.specs).filter(|s| !s.is_empty()).collect();
        rows.push((
            "Launched at",
            html! {
                @for spec in specs { code { (spec) } " " }
                (periodic.time_zone) @if !periodic.enabled { " (off)" }
            },
        ));
    }
    if let Some(description) = job.meta.get("description") {
        rows.push(("Description", html! { (description) }));
    }
    facts(&rows)
}

/// Why allocations are unplaced: what the newest blocked evaluation says.
fn unplaced(visit: &Visit, evaluations: &[Eval]) -> Markup {
    let newest = evaluations.iter().filter(|e| e.status == EvalStatus::Blocked).max_by_key(|e| e.create_time);
    html! {
        @if let Some(blocked) = newest {
            h2 { "Why allocations are unplaced" }
            p {
                "Evaluation " (link::evaluation(&blocked.id)) " waits for capacity. This is what the scheduler found "
                (time::moment(visit, blocked.modify_time)) ":"
            }
            (why::unplaced(&blocked.failed_tg_allocs))
        }
    }
}

fn groups(visit: &Visit, job: &Job, counts: &JobCounts) -> Markup {
    let columns =
        ["Group", "Count#", "Running#", "Starting#", "Unplaced#", "Failed#", "Lost#", "Complete#", "Tasks", "Scale"];
    let mut table = Table::new("Task groups", &columns, html! { "The job has no groups." });
    let alarm = |n: i64| html! { @if n > 0 { span.alarm { (n) } } @else { "0" } };
    for group in &job.task_groups {
        let of = counts.summary.get(&group.name).cloned().unwrap_or_default();
        table.row([
            html! { (group.name) },
            html! { (group.count) },
            html! { (of.running) },
            html! { (of.starting) },
            alarm(of.queued),
            alarm(of.failed),
            alarm(of.lost.saturating_add(of.unknown)),
            html! { (of.complete) },
            html! { @for task in &group.tasks { (task.name) " " span.muted { (task.driver) } " " } },
            forms::scale(visit, job, group),
        ]);
    }
    table.markup()
}

/// The newest allocations. The list of the job's alone is the fastest, unless it is long: it has no pages.
async fn newest(visit: &Visit, job: &Job, counts: &JobCounts) -> Result<Markup, PageError> {
    let of =
        |g: &TaskGroupSummary| [g.running, g.starting, g.failed, g.lost, g.complete, g.unknown].iter().sum::<i64>();
    let rows: Vec<Alloc> = if counts.summary.values().map(of).sum::<i64>() > LONG {
        tabs::allocations_of(visit, &job.id, &job.namespace).at_most(NEWEST).read().await?.rows
    } else {
        let path = path("/v1/job/", &job.id, "/allocations");
        let mut rows: Vec<Alloc> = visit.read(&path, &[("namespace", &job.namespace)]).await?;
        rows.sort_by_key(|a| std::cmp::Reverse(a.create_time));
        rows.truncate(NEWEST);
        rows
    };
    let more = rows.len() == NEWEST;
    Ok(html! {
        (allocations::table(visit, &rows, html! { "The job has no allocations." }).markup())
        @if more { p { a href=(link::job_address(&job.namespace, &job.id, "allocations")) { "All allocations" } } }
    })
}

/// The jobs that a periodic or parameterized job launched.
async fn children(visit: &Visit, job: &Job) -> Result<Markup, PageError> {
    let prefix = format!("{}/", job.id);
    let request = Request::new(visit, "/v1/jobs").in_namespace(&job.namespace);
    let request = request.with("prefix", &prefix).with("reverse", "true").at_most(NEWEST * 2);
    let found = request.only(format!("ParentID == {}", quoted(&job.id))).read::<JobRow>().await?;
    let empty = html! { "Nothing was launched yet, or it was garbage collected." };
    Ok(html! { h2 { "Launched jobs" } (found.markup(visit, &job_table(visit, &found.rows, empty))) })
}

/// The scaling events of groups that have any.
async fn scaling(visit: &Visit, job: &Job) -> Result<Markup, PageError> {
    let path = path("/v1/job/", &job.id, "/scale");
    let status: JobScaleStatus = visit.find(&path, &[("namespace", &job.namespace)]).await?.unwrap_or_default();
    let mut table = Table::new("Scaling events", &["When", "Group", "Count#", "Before#", "Message"], html! {});
    for (group, events) in status.task_groups.iter().map(|(name, s)| (name, &s.events)) {
        for event in events {
            table.row([
                time::moment(visit, event.time),
                html! { (group) },
                html! { @if let Some(count) = event.count { (count) } @else { "-" } },
                html! { (event.previous_count) },
                html! { @if event.error { span.alarm { "error: " } } (event.message) },
            ]);
        }
    }
    let any = status.task_groups.values().any(|s| !s.events.is_empty());
    Ok(html! { @if any { h2 { "Scaling events" } (table.markup()) } })
}

/// The actions that the job declares: commands that its tasks run.
async fn actions(visit: &Visit, job: &Job) -> Markup {
    let path = path("/v1/job/", &job.id, "/actions");
    let query = [("namespace", job.namespace.as_str())];
    // A job without actions, or a cluster that cannot tell: there is nothing to show.
    let found: Vec<JobAction> = visit.read::<Option<_>>(&path, &query).await.ok().flatten().unwrap_or_default();
    html! {
        @if !found.is_empty() {
            h2 { "Actions" }
            @for action in &found {
                p.command {
                    code { (action.name) ": " (action.command) " " (action.args.join(" ")) }
                    span.muted { "task " (action.task_name) " of group " (action.task_group_name) }
                    @if visit.offers_in(&job.namespace, &[Capability::AllocExec]) { a.button href=(exec::action_address(job, action)) { "Run" } }
                }
            }
        }
    }
}
