//! The page of an allocation.

use encamp_model::ClientStatus;
use maud::{Markup, html};

use super::{actions, read, status, task, task_state, usage};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::pages::data::{Alloc, AllocatedPort};
use crate::parts::table::{Table, facts};
use crate::parts::{link, time, why};
use crate::visit::Visit;

/// `/ui/allocations/{alloc}`
pub(super) async fn page(visit: &Visit) -> Result<Page, PageError> {
    let a = read(visit).await?;
    let body = html! {
        (of(visit, &a))
        (actions::forms(visit, &a))
        h2 { "Tasks" }
        (tasks(visit, &a))
        @if visit.source().is_live() && a.client_status == ClientStatus::Running { (usage::graphs(&a, None)) }
        (preemptions(&a))
        (ports(&a))
        h2 { "Why this client" }
        @match &a.metrics {
            Some(metric) => { (why::scores(metric, &a.node_id)) (why::reasons(metric, "Why other nodes were excluded")) }
            None => { p.empty { "The scheduler recorded nothing about this placement." } }
        }
    };
    let page = Page::new(Area::Allocations, format!("Allocation {}", a.name), body);
    let page = page.follows([format!("Allocation:{}", a.id)]).with_assets(usage::ASSETS);
    Ok(page.below(&a.job_id, link::job_address(&a.namespace, &a.job_id, "")))
}

fn of(visit: &Visit, a: &Alloc) -> Markup {
    let or_none = |id: &str, link: fn(&str) -> Markup| {
        if id.is_empty() {
            html! { "-" }
        } else {
            link(id)
        }
    };
    let described = |word: Markup, text: &str| html! { (word) @if !text.is_empty() { " " span.muted { (text) } } };
    facts(&[
        ("ID", html! { code { (a.id) } }),
        ("Status", described(status(a), &a.client_description)),
        ("Desired", described(html! { (a.desired_status) }, &a.desired_description)),
        ("Job", html! { (link::job(&a.namespace, &a.job_id)) " version " (version(a)) }),
        ("Group", html! { (a.task_group) }),
        ("Client", link::client(&a.node_id, &a.node_name)),
        ("Created", time::moment(visit, a.create_time)),
        ("Changed", time::moment(visit, a.modify_time)),
        ("Evaluation", or_none(&a.eval_id, link::evaluation)),
        ("Deployment", or_none(&a.deployment_id, link::deployment)),
        ("Replaces", or_none(&a.previous_allocation, link::allocation)),
        ("Replaced by", or_none(&a.next_allocation, link::allocation)),
        ("Rescheduled by", or_none(&a.followup_eval_id, link::evaluation)),
    ])
}

/// The version of the job: allocations in full have it in their job.
fn version(a: &Alloc) -> u64 {
    a.job.as_ref().map_or(a.job_version, |job| job.version)
}

fn tasks(visit: &Visit, a: &Alloc) -> Markup {
    let columns = ["Task", "State", "Last event", "When", "Restarts#", "CPU (MHz)#", "Memory (MiB)#", "Open"];
    let mut table = Table::new("Tasks", &columns, html! { "The allocation has no tasks yet." });
    let none = std::collections::BTreeMap::new();
    let allocated = a.allocated_resources.as_ref().map_or(&none, |r| &r.tasks);
    let names: std::collections::BTreeSet<&String> = allocated.keys().chain(a.task_states.keys()).collect();
    for name in names {
        let task = a.task_states.get(name);
        let last = task.and_then(|t| t.events.last());
        let resources = allocated.get(name);
        table.row([
            html! { a href=(link::task_address(&a.id, name, "")) { (name) } },
            task.map_or_else(|| html! { "-" }, task_state),
            html! { @if let Some(e) = last { (e.kind) " " span.muted { (e.display_message) } } },
            last.map_or_else(|| html! { "-" }, |e| time::moment(visit, e.time)),
            html! { (task.map_or(0, |t| t.restarts)) },
            html! { @if let Some(r) = resources { (r.cpu.cpu_shares) } @else { "-" } },
            html! { @if let Some(r) = resources { (r.memory.memory_mb) } @else { "-" } },
            html! {
                span.links {
                    @for (title, part) in task::live_pages(visit, a) {
                        a href=(link::task_address(&a.id, name, part)) { (title) } " "
                    }
                }
            },
        ]);
    }
    table.markup()
}

fn preemptions(a: &Alloc) -> Markup {
    html! {
        @if !a.preempted_by_allocation.is_empty() || !a.preempted_allocations.is_empty() {
            h2 { "Preemptions" }
            @if !a.preempted_by_allocation.is_empty() {
                p { "Preempted by " (link::allocation(&a.preempted_by_allocation)) ", which has a higher priority." }
            }
            @if !a.preempted_allocations.is_empty() {
                p { "Preempts: " @for id in &a.preempted_allocations { (link::allocation(id)) " " } }
            }
        }
    }
}

fn ports(a: &Alloc) -> Markup {
    let ports: &[AllocatedPort] = a.allocated_resources.as_ref().map_or(&[], |r| &r.shared.ports);
    let mut table = Table::new("Ports", &["Label", "Address", "To#"], html! {});
    for port in ports {
        let address = format!("{}:{}", port.host_ip, port.value);
        table.row([html! { (port.label) }, html! { code { (address) } }, html! { (port.to) }]);
    }
    let disk = a.allocated_resources.as_ref().map_or(0, |r| r.shared.disk_mb);
    html! {
        @if !ports.is_empty() { h2 { "Ports" } (table.markup()) }
        p.muted { "Ephemeral disk: " (disk) " MiB" }
    }
}
