//! Allocations: the list, and the pages of one allocation and its tasks.

mod actions;
pub(super) mod exec;
mod files;
mod logs;
mod page;
mod task;
mod usage;

use maud::{Markup, html};

use super::data::{Alloc, TaskState};
use super::routes::{Routes, handler, stream};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::listing::{Request, namespaces, texts, words};
use crate::parts::state::Tone;
use crate::parts::table::Table;
use crate::parts::{form, link, state, time};
use crate::visit::{Visit, path};

pub(crate) const ROUTES: Routes = Routes {
    pages: &[
        ("/ui/allocations", handler!(list)),
        ("/ui/allocations/{alloc}", handler!(page::page)),
        ("/ui/allocations/{alloc}/fs", handler!(files::of_allocation)),
        ("/ui/allocations/{alloc}/{task}", handler!(task::page)),
        ("/ui/allocations/{alloc}/{task}/logs", handler!(logs::page)),
        ("/ui/allocations/{alloc}/{task}/fs", handler!(files::of_task)),
        ("/ui/allocations/{alloc}/{task}/exec", handler!(exec::page)),
    ],
    // One segment more than a task's page, so that no name of a task is in the way.
    actions: &[
        ("/ui/allocations/{alloc}/action/stop", handler!(actions::stop)),
        ("/ui/allocations/{alloc}/action/restart", handler!(actions::restart)),
        ("/ui/allocations/{alloc}/action/signal", handler!(actions::signal)),
    ],
    streams: &[
        ("/ui/usage/{alloc}", stream!(usage::figures)),
        ("/ui/allocations/{alloc}/fs/download", stream!(files::download)),
        ("/ui/allocations/{alloc}/{task}/logs/text", stream!(logs::text)),
        ("/ui/allocations/{alloc}/{task}/exec/socket", stream!(exec::socket)),
    ],
};

const STATUSES: &[&str] = &["pending", "running", "complete", "failed", "lost", "unknown"];
const DESIRED: &[&str] = &["run", "stop", "evict"];

/// `/ui/allocations`
async fn list(visit: &Visit) -> Result<Page, PageError> {
    let request = Request::new(visit, "/v1/allocations").with("reverse", "true").contains("Name");
    let request = request.equals("ClientStatus", "status").equals("DesiredStatus", "desired");
    let preempted = visit.parameter("preempted").is_some();
    let request = if preempted { request.only("PreemptedByAllocation != \"\"") } else { request };
    let found = request.read::<Alloc>().await?;
    let filter = html! {
        (texts(visit, "Name"))
        (words(visit, "status", "Client status", STATUSES))
        (words(visit, "desired", "Desired status", DESIRED))
        (namespaces(visit).await)
        (form::switch("preempted", "Preempted", preempted))
    };
    let table = table(visit, &found.rows, html! { "No allocations match." });
    let body = html! { (form::filter(visit, &filter)) (found.markup(visit, &table)) };
    Ok(Page::new(Area::Allocations, "Allocations", body).follows(["Allocation:*"]))
}

/// A table of allocations.
pub(super) fn table(visit: &Visit, allocations: &[Alloc], empty: Markup) -> Table {
    let columns = ["Allocation", "Name", "Status", "Desired", "Job", "Version#", "Client", "Created", "Changed"];
    let mut table = Table::new("Allocations", &columns, empty);
    for a in allocations {
        table.row([
            link::allocation(&a.id),
            html! { (a.name) },
            status(a),
            html! { (a.desired_status) },
            link::job(&a.namespace, &a.job_id),
            html! { (a.job_version) },
            link::client(&a.node_id, &a.node_name),
            time::moment(visit, a.create_time),
            time::moment(visit, a.modify_time),
        ]);
    }
    table
}

/// The status of an allocation, with what a deployment or a preemption adds to it.
pub(super) fn status(a: &Alloc) -> Markup {
    let health = a.deployment_status.as_ref();
    html! {
        (state::of(&a.client_status))
        @match health.and_then(|h| h.healthy) {
            Some(true) => { " healthy" }
            Some(false) => { " " span.alarm { "unhealthy" } }
            None => {}
        }
        @if health.is_some_and(|h| h.canary) { " canary" }
        @if !a.preempted_by_allocation.is_empty() { " preempted by " (link::allocation(&a.preempted_by_allocation)) }
    }
}

/// The state of a task: a failed one says so.
fn task_state(task: &TaskState) -> Markup {
    if task.failed { state::state(Tone::Bad, "failed") } else { state::of(&task.state) }
}

/// Reads the allocation of the page.
///
/// # Errors
/// It does not exist, or cannot be read.
pub(super) async fn read(visit: &Visit) -> Result<Alloc, PageError> {
    let id = link::full_id(visit, "/v1/allocations", "allocation", visit.name("alloc")).await?;
    let found = visit.find(&path("/v1/allocation/", &id, ""), &[]).await?;
    found.ok_or(PageError::Missing { kind: "allocation", name: id })
}

/// A page below an allocation.
fn below(a: &Alloc, title: String, body: Markup) -> Page {
    Page::new(Area::Allocations, title, body)
        .follows([format!("Allocation:{}", a.id)])
        .below(&a.job_id, link::job_address(&a.namespace, &a.job_id, ""))
        .below(format!("Allocation {}", link::short(&a.id)), link::allocation_address(&a.id))
}
