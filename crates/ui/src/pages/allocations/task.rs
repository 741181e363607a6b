//! The page of a task, and what the pages of a task have in common.

use encamp_acl::Capability;
use encamp_model::TaskStatus;
use maud::{Markup, html};

use super::{actions, below, read, task_state, usage};
use crate::error::PageError;
use crate::layout::Page;
use crate::pages::data::{Alloc, TaskState};
use crate::parts::table::{Table, facts, tabs};
use crate::parts::{link, time};
use crate::visit::Visit;

/// Reads the allocation and checks that it has the task of the page.
pub(super) async fn of(visit: &Visit) -> Result<(Alloc, String), PageError> {
    let (a, task) = (read(visit).await?, visit.name("task").to_string());
    let allocated = a.allocated_resources.as_ref().is_some_and(|r| r.tasks.contains_key(&task));
    if allocated || a.task_states.contains_key(&task) {
        Ok((a, task))
    } else {
        Err(PageError::Missing { kind: "task", name: task })
    }
}

/// The titles and paths of a task's pages that need the task itself, as far as the person may open them.
pub(super) fn live_pages(visit: &Visit, a: &Alloc) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all: [(_, _, &[Capability]); 3] = [
        ("Logs", "logs", &[Capability::ReadLogs, Capability::ReadFs]),
        ("Files", "fs", &[Capability::ReadFs]),
        ("Exec", "exec", &[Capability::AllocExec]),
    ];
    all.into_iter().filter(|(.., any_of)| visit.offers_in(&a.namespace, any_of)).map(|(title, part, _)| (title, part))
}

/// A page of a task with the links to its other pages.
pub(super) fn page_of(visit: &Visit, a: &Alloc, task: &str, body: &Markup) -> Page {
    let address = |part| link::task_address(visit.name("alloc"), task, part);
    let mut entries = vec![("Overview", address(""))];
    entries.extend(live_pages(visit, a).map(|(title, part)| (title, address(part))));
    let body = html! { (tabs(visit, "Pages of the task", &entries)) (body) };
    below(a, format!("Task {task}"), body)
}

/// `/ui/allocations/{alloc}/{task}`
pub(super) async fn page(visit: &Visit) -> Result<Page, PageError> {
    let (a, task) = of(visit).await?;
    let none = TaskState::default();
    let state = a.task_states.get(&task).unwrap_or(&none);
    let body = html! {
        (facts_of(visit, &a, &task, state))
        (actions::forms(visit, &a))
        @if visit.source().is_live() && state.state == TaskStatus::Running { (usage::graphs(&a, Some(&task))) }
        h2 { "Events" }
        (events(visit, state))
    };
    Ok(page_of(visit, &a, &task, &body).with_assets(usage::ASSETS))
}

fn facts_of(visit: &Visit, a: &Alloc, name: &str, task: &TaskState) -> Markup {
    let moment = |t: &encamp_model::Time| time::moment(visit, t.unix_nanos().unwrap_or(0));
    let mut rows = vec![
        ("State", task_state(task)),
        ("Started", moment(&task.started_at)),
        ("Ended", moment(&task.finished_at)),
        ("Restarts", html! { (task.restarts) }),
        ("Client", link::client(&a.node_id, &a.node_name)),
    ];
    let groups = a.job.iter().flat_map(|job| &job.task_groups).filter(|g| g.name == a.task_group);
    if let Some(of_job) = groups.flat_map(|g| &g.tasks).find(|t| t.name == name) {
        rows.push(("Driver", html! { (of_job.driver) }));
    }
    if let Some(r) = a.allocated_resources.as_ref().and_then(|r| r.tasks.get(name)) {
        rows.push(("CPU", html! {
            (r.cpu.cpu_shares) " MHz" @if !r.cpu.reserved_cores.is_empty() { ", " (r.cpu.reserved_cores.len()) " cores" }
        }));
        rows.push(("Memory", html! {
            (r.memory.memory_mb) " MiB" @if r.memory.memory_max_mb > 0 { ", at most " (r.memory.memory_max_mb) " MiB" }
        }));
        for d in &r.devices {
            rows.push(("Device", html! { (d.vendor) "/" (d.kind) "/" (d.name) ": " (d.device_ids.join(", ")) }));
        }
    }
    facts(&rows)
}

fn events(visit: &Visit, task: &TaskState) -> Markup {
    let mut table = Table::new("Events", &["Event", "When", "Message"], html! { "Nothing happened yet." });
    for event in task.events.iter().rev() {
        table.row([html! { (event.kind) }, time::moment(visit, event.time), html! { (event.display_message) }]);
    }
    table.markup()
}
