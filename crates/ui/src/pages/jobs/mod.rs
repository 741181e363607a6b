//! Jobs: the list, and the pages of one job.

mod actions;
mod forms;
mod page;
mod tabs;

use encamp_model::TaskGroupSummary;
use maud::{Markup, html};

use super::allocations::exec;
use super::data::{Job, JobCounts, JobRow};
use super::routes::{Routes, handler, stream};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::listing::{Request, namespaces, texts, words};
use crate::parts::state::Tone;
use crate::parts::table::{Table, tabs as tab_links};
use crate::parts::{form, link, state, time};
use crate::visit::{Visit, path};

pub(crate) const ROUTES: Routes = Routes {
    pages: &[
        ("/ui/jobs", handler!(list)),
        ("/ui/jobs/{job}", handler!(page::page)),
        ("/ui/jobs/{job}/allocations", handler!(tabs::allocations)),
        ("/ui/jobs/{job}/deployments", handler!(tabs::deployments)),
        ("/ui/jobs/{job}/evaluations", handler!(tabs::evaluations)),
        ("/ui/jobs/{job}/versions", handler!(tabs::versions)),
        ("/ui/jobs/{job}/definition", handler!(tabs::definition)),
        ("/ui/jobs/{job}/action", handler!(tabs::action)),
    ],
    actions: &[
        ("/ui/jobs/{job}/start", handler!(actions::start)),
        ("/ui/jobs/{job}/stop", handler!(actions::stop)),
        ("/ui/jobs/{job}/restart", handler!(actions::restart)),
        ("/ui/jobs/{job}/evaluate", handler!(actions::evaluate)),
        ("/ui/jobs/{job}/scale", handler!(actions::scale)),
        ("/ui/jobs/{job}/revert", handler!(actions::revert)),
        ("/ui/jobs/{job}/dispatch", handler!(actions::dispatch)),
        ("/ui/jobs/{job}/force", handler!(actions::force)),
    ],
    streams: &[("/ui/jobs/{job}/action/socket", stream!(exec::action_socket))],
};

const TYPES: &[&str] = &["service", "batch", "system", "sysbatch"];
const STATUSES: &[&str] = &["running", "pending", "dead"];

/// `/ui/jobs`
async fn list(visit: &Visit) -> Result<Page, PageError> {
    let request = Request::new(visit, "/v1/jobs").equals("Type", "type").equals("Status", "status").contains("ID");
    let children = visit.parameter("children").is_some();
    let request = if children { request } else { request.only("ParentID == \"\"") };
    let found = request.read::<JobRow>().await?;
    let empty = html! {
        "No jobs match. " a href="/ui/plan" { "Plan and register a job" } " or run " code { "encamp job run FILE" } "."
    };
    let filter = html! {
        (texts(visit, "Name"))
        (words(visit, "type", "Type", TYPES))
        (words(visit, "status", "Status", STATUSES))
        (namespaces(visit).await)
        (form::switch("children", "Launched and dispatched jobs", children))
    };
    let body = html! { (form::filter(visit, &filter)) (found.markup(visit, &table(visit, &found.rows, empty))) };
    Ok(Page::new(Area::Jobs, "Jobs", body).follows(["Job:*", "Allocation:*", "Evaluation:*"]))
}

/// A table of jobs.
pub(super) fn table(visit: &Visit, jobs: &[JobRow], empty: Markup) -> Table {
    let columns = ["Job", "Status", "Type", "Namespace", "Allocations", "Priority#", "Submitted"];
    let mut table = Table::new("Jobs", &columns, empty);
    for job in jobs {
        let kind = match (job.periodic, job.parameterized_job) {
            (true, _) => " (periodic)",
            (_, true) => " (parameterized)",
            _ => "",
        };
        table.row([
            html! { (link::job(&job.namespace, &job.id)) @if job.name != job.id { " " span.muted { (job.name) } } },
            html! { (state::of(&job.status)) @if job.stop { " (stopped)" } },
            html! { (job.kind) (kind) },
            html! { (job.namespace) },
            counts(&job.job_summary),
            html! { (job.priority) },
            time::moment(visit, job.submit_time),
        ]);
    }
    table
}

/// How many allocations or children of a job are in which state: those that need attention first.
fn counts(counts: &JobCounts) -> Markup {
    let sum = |of: fn(&TaskGroupSummary) -> i64| counts.summary.values().map(of).sum::<i64>();
    let children = counts.children.as_ref();
    let states = [
        (Tone::Bad, "unplaced", sum(|g| g.queued)),
        (Tone::Bad, "failed", sum(|g| g.failed)),
        (Tone::Bad, "lost", sum(|g| g.lost)),
        (Tone::Warning, "unknown", sum(|g| g.unknown)),
        (Tone::Pending, "starting", sum(|g| g.starting)),
        (Tone::Pending, "pending", children.map_or(0, |c| c.pending)),
        (Tone::Good, "running", sum(|g| g.running) + children.map_or(0, |c| c.running)),
        (Tone::Neutral, "complete", sum(|g| g.complete) + children.map_or(0, |c| c.dead)),
    ];
    html! {
        @for (tone, word, count) in states {
            @if count > 0 { (state::state(tone, &format!("{count} {word}"))) " " }
        }
    }
}

/// The ID and the namespace of the job in the page's address.
fn named(visit: &Visit) -> (&str, &str) {
    link::split(visit.name("job"))
}

/// Reads the job of the page.
///
/// # Errors
/// It does not exist, or cannot be read.
async fn read(visit: &Visit) -> Result<Job, PageError> {
    let (id, namespace) = named(visit);
    if id.split('/').any(|part| matches!(part, "" | "." | "..")) {
        let text = format!(
            "The HTTP API cannot reach job {id}: its ID has an empty part between slashes, or one that is . or .. \
             (docs/spec/http-api.md). Find its allocations in the lists, and register it under another ID."
        );
        return Err(PageError::Input(text));
    }
    let job = visit.find(&path("/v1/job/", id, ""), &[("namespace", namespace)]).await?;
    job.ok_or_else(|| PageError::Missing { kind: "job", name: id.to_string() })
}

/// A page of a job: with the links to its other pages, and the topics that change it.
fn job_page(visit: &Visit, job: &Job, body: &Markup) -> Page {
    // The address as the browser sent it: the namespace `default` may be left out.
    let own = match visit.path.match_indices('/').nth(3) {
        Some((end, _)) => visit.path.get(..end).unwrap_or_default(),
        None => &visit.path,
    };
    let address = |tab: &str| if tab.is_empty() { own.to_string() } else { format!("{own}/{tab}") };
    let tabs = [
        ("Overview", address("")),
        ("Allocations", address("allocations")),
        ("Deployments", address("deployments")),
        ("Evaluations", address("evaluations")),
        ("Versions", address("versions")),
        ("Definition", address("definition")),
    ];
    let body = html! { (tab_links(visit, "Pages of the job", &tabs)) (body) };
    let topics = ["Job", "Allocation", "Deployment", "Evaluation"].map(|topic| format!("{topic}:{}", job.id));
    let page = Page::new(Area::Jobs, format!("Job {}", job.id), body).follows(topics).below("Jobs", "/ui/jobs");
    if job.parent_id.is_empty() {
        page
    } else {
        page.below(&job.parent_id, link::job_address(&job.namespace, &job.parent_id, ""))
    }
}
