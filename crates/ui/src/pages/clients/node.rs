//! The page of a client.

use encamp_acl::{Level, Need};
use encamp_model::{DesiredStatus, Node, NodeEligibility};
use maud::{Markup, html};

use super::{condition_of, loss};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::state::{Tone, notice, of, state};
use crate::parts::table::{Table, facts, values};
use crate::parts::usage::{AllocationRow, Amount};
use crate::parts::{form, link, meter, time, usage};
use crate::visit::{Visit, path};

/// The most events that are shown; the API keeps ten.
const EVENTS: usize = 20;

/// `/ui/clients/{id}`
pub(super) async fn page(visit: &Visit) -> Result<Page, PageError> {
    let id = &link::full_id(visit, "/v1/nodes", "client", visit.name("id")).await?;
    let node: Option<Node> = visit.find(&path("/v1/node/", id, ""), &[]).await?;
    let node = node.ok_or_else(|| PageError::Missing { kind: "client", name: id.to_string() })?;
    let mut allocations: Vec<AllocationRow> = Vec::new();
    visit.read_rows(&path("/v1/node/", id, "/allocations"), &[], |row| allocations.push(row)).await?;
    allocations.sort_by(|a, b| a.is_over().cmp(&b.is_over()).then_with(|| a.name.cmp(&b.name)));
    let asked = visit.parameter("question").is_some();
    let body = html! {
        (node_facts(visit, &node))
        @if visit.source().is_live() { (drain_state(visit, &node, &allocations)) }
        @if visit.offers(&Need::Node(Level::Write)) { (actions(visit, &node)) }
        h2 { "Resources" } (resources(&node, &allocations))
        (loss::section(visit, id).await?)
        h2 { "Allocations" } (allocation_table(visit, &allocations))
        (fingerprints(&node))
        h2 { "Events" } (events(visit, &node))
        (values("Metadata", &node.meta))
        (values("Attributes", &node.attributes))
    };
    let name = if node.name.is_empty() { id } else { &node.name };
    let page = Page::new(Area::Clients, name, body).below("Clients", "/ui/clients");
    // The answer to a question is not computed again by each change of the cluster.
    Ok(if asked { page } else { page.follows([format!("Node:{id}"), "Allocation:*".to_string()]) })
}

fn node_facts(visit: &Visit, node: &Node) -> Markup {
    let draining = node.drain_strategy.is_some();
    facts(&[
        ("State", condition_of(&node.status, &node.scheduling_eligibility, draining)),
        ("ID", html! { code { (node.id) } }),
        ("Address", html! { (node.http_addr) }),
        ("Datacenter", html! { (node.datacenter) }),
        ("Node pool", html! { (node.node_pool) }),
        ("Class", html! { @if node.node_class.is_empty() { "-" } @else { (node.node_class) } }),
        ("Version", html! { (node.attributes.get("nomad.version").map_or("-", String::as_str)) }),
        ("Status changed", time::moment(visit, node.status_updated_at.saturating_mul(1_000_000_000))),
        ("Description", html! { @if node.status_description.is_empty() { "-" } @else { (node.status_description) } }),
    ])
}

/// The drain in progress, with what is left to move.
fn drain_state(visit: &Visit, node: &Node, allocations: &[AllocationRow]) -> Markup {
    let Some(drain) = &node.drain_strategy else { return html! {} };
    let left = allocations.iter().filter(|a| !a.is_over()).count();
    let moving = allocations.iter().filter(|a| !a.is_over() && a.desired_status != DesiredStatus::Run).count();
    let nanos = |time: encamp_model::Time| time.unix_nanos().unwrap_or(0);
    notice(
        Tone::Pending,
        &html! {
            p { "The client drains since " (time::moment(visit, nanos(drain.started_at))) ": " (left) " allocations are left, " (moving) " of them are stopping." }
            p {
                @if drain.deadline < 0 { "All allocations are stopped at once." }
                @else if drain.deadline == 0 { "There is no deadline." }
                @else { "What is left is stopped at the deadline, " (time::moment(visit, nanos(drain.force_deadline))) "." }
                @if drain.ignore_system_jobs { " System jobs keep running." }
            }
            @if let Some(message) = node.last_drain.as_ref().and_then(|d| d.meta.get("message")) { p { "Message: " (message) } }
        },
    )
}

fn actions(visit: &Visit, node: &Node) -> Markup {
    let address = link::client_address(&node.id);
    let eligible = node.scheduling_eligibility == NodeEligibility::Eligible;
    let (to, label) =
        if eligible { ("ineligible", "Accept no new allocations") } else { ("eligible", "Accept new allocations") };
    html! {
        div.actions {
            @if node.drain_strategy.is_some() {
                (form::action(visit, &format!("{address}/drain/stop"), &html! {
                    (form::switch("eligible", "Then accept new allocations", true))
                    button type="submit" { "Stop the drain" }
                }))
            } @else {
                (form::action(visit, &format!("{address}/eligibility"), &html! {
                    input type="hidden" name="to" value=(to);
                    button type="submit" { (label) }
                }))
            }
            details {
                summary { @if node.drain_strategy.is_some() { "Change the drain" } @else { "Drain" } }
                (form::action(visit, &format!("{address}/drain"), &html! {
                    (form::choice("kind", "Allocations left at the deadline", "deadline", &[
                        ("deadline", "are stopped"), ("unlimited", "wait: there is no deadline"), ("force", "stop all now"),
                    ]))
                    (form::text("deadline", "Deadline", "1h", "1h30m"))
                    (form::text("message", "Message", "", ""))
                    (form::switch("ignore_system", "Keep system jobs", false))
                    button type="submit" data-question="Allocations will leave this client. Drain it?" { "Drain" }
                }))
            }
        }
    }
}

fn resources(node: &Node, allocations: &[AllocationRow]) -> Markup {
    let used = allocations.iter().filter(|a| !a.is_over()).fold(Amount::default(), |mut sum, a| {
        sum.add(a.amount());
        sum
    });
    let disk: i64 = allocations.iter().filter(|a| !a.is_over()).map(AllocationRow::disk).sum();
    let Some(all) = &node.node_resources else {
        return html! { p.empty { "The client has not reported its resources." } };
    };
    let reserved = node.reserved_resources.clone().unwrap_or_default();
    let cpu = usage::node_mhz(all).saturating_sub(reserved.cpu.cpu_shares);
    let memory = all.memory.memory_mb.saturating_sub(reserved.memory.memory_mb);
    let free = all.disk.disk_mb.saturating_sub(reserved.disk.disk_mb);
    let mut rows = vec![
        ("CPU", meter::meter("CPU", used.cpu, cpu, "MHz")),
        ("Memory", meter::meter("Memory", used.memory, memory, "MiB")),
        ("Disk", meter::meter("Disk", disk, free, "MiB")),
        ("CPU cores", html! { (all.cpu.total_cpu_cores) }),
    ];
    let devices: Vec<_> = all.devices.iter().collect();
    let in_use = |group: &str| allocations.iter().filter(|a| !a.is_over()).map(|a| a.devices(group)).sum::<usize>();
    let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    for device in devices {
        let group = format!("{}/{}/{}", device.vendor, device.r#type, device.name);
        let healthy = device.instances.iter().filter(|i| i.healthy).count();
        let ill = device.instances.len() - healthy;
        rows.push((
            "Device",
            html! {
                (group) " " (meter::meter(&group, count(in_use(&group)), count(healthy), "instances"))
                @if ill > 0 { " " (state(Tone::Bad, &format!("{ill} unhealthy"))) }
            },
        ));
    }
    facts(&rows)
}

fn allocation_table(visit: &Visit, allocations: &[AllocationRow]) -> Markup {
    let empty = html! { "No allocations. If the client is ready and eligible, jobs can be placed on it." };
    let columns = ["ID", "Name", "Job", "Namespace", "Status", "CPU#", "Memory#", "Changed"];
    let mut table = Table::new("Allocations", &columns, empty);
    for row in allocations {
        let amount = row.amount();
        table.row([
            link::allocation(&row.id),
            html! { (row.name) },
            link::job(&row.namespace, &row.job_id),
            html! { (row.namespace) },
            of(&row.client_status),
            html! { (amount.cpu) " MHz" },
            html! { (amount.memory) " MiB" },
            time::moment(visit, row.modify_time),
        ]);
    }
    table.markup()
}

/// Drivers, host volumes and plugins that the client found.
fn fingerprints(node: &Node) -> Markup {
    let mut drivers =
        Table::new("Drivers", &["Driver", "State", "Description"], html! { "The client has no task drivers." });
    for (name, driver) in node.drivers.iter().filter(|(_, driver)| driver.detected) {
        let (tone, word) = if driver.healthy { (Tone::Good, "healthy") } else { (Tone::Bad, "unhealthy") };
        drivers.row([html! { (name) }, state(tone, word), html! { (driver.health_description) }]);
    }
    let mut volumes =
        Table::new("Host volumes", &["Name", "Path", "Access"], html! { "The client has no host volumes." });
    for (name, volume) in &node.host_volumes {
        let access = if volume.read_only { "read only" } else { "read and write" };
        let name = if volume.id.is_empty() {
            html! { (name) }
        } else {
            html! { a href=(path("/ui/storage/volumes/host/", &volume.id, "")) { (name) } }
        };
        volumes.row([name, html! { code { (volume.path) } }, html! { (access) }]);
    }
    html! {
        h2 { "Drivers" } (drivers.markup())
        h2 { "Host volumes" } (volumes.markup())
        @if !node.csi_node_plugins.is_empty() || !node.csi_controller_plugins.is_empty() {
            h2 { "Storage plugins" }
            ul {
                @for name in node.csi_node_plugins.keys() { li { a href=(path("/ui/storage/plugins/", name, "")) { (name) } " (node)" } }
                @for name in node.csi_controller_plugins.keys() { li { a href=(path("/ui/storage/plugins/", name, "")) { (name) } " (controller)" } }
            }
        }
    }
}

fn events(visit: &Visit, node: &Node) -> Markup {
    let mut table =
        Table::new("Events", &["Time", "Subsystem", "Message", "Details"], html! { "There are no events." });
    for event in node.events.iter().rev().take(EVENTS) {
        let details: Vec<String> = event.details.iter().map(|(name, value)| format!("{name}={value}")).collect();
        table.row([
            time::moment(visit, event.timestamp.unix_nanos().unwrap_or(0)),
            html! { (event.subsystem) },
            html! { (event.message) },
            html! { (details.join(", ")) },
        ]);
    }
    table.markup()
}
