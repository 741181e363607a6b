//! The overview: what needs attention first, then how the cluster is, then what happened last.

use std::collections::{BTreeMap, BTreeSet};

use encamp_model::{DeploymentStatus, NodeEligibility, NodeStatus};
use maud::{Markup, html};
use serde::de::DeserializeOwned;

use super::data::answers;
use super::data::{Alloc, Deployment, Eval, JobRow};
use super::routes::{Routes, handler, stream};
use super::{allocations, deployments, evaluations};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::live;
use crate::parts::listing::{Listing, Request};
use crate::parts::meter::meter;
use crate::parts::state::{Tone, notice};
use crate::parts::table::Table;
use crate::parts::usage::Amounts;
use crate::parts::{link, plural, state};
use crate::visit::Visit;

pub(crate) const ROUTES: Routes =
    Routes { pages: &[("/ui/", handler!(overview))], actions: &[], streams: &[("/ui/live", stream!(live::events))] };

/// Rows of each list of what needs attention.
const SHOWN: usize = 10;
/// The evaluations that say what happened last.
const LATEST: usize = 12;
/// The largest lists of clients and allocations that the page adds up.
const SUMMED: usize = 1000;

answers! {
    /// A client, and what it has.
    Node {
        #[serde(rename = "ID")]
        id: String,
        name: String,
        datacenter: String,
        status: NodeStatus,
        status_description: String,
        drain: bool,
        scheduling_eligibility: NodeEligibility,
        node_resources: Amounts,
    }

    /// The health of the servers.
    Servers {
        healthy: bool,
        failure_tolerance: i64,
        servers: Vec<Server>,
    }

    /// A server.
    Server {
        name: String,
        healthy: bool,
        leader: bool,
    }
}

/// The lists of what needs attention.
struct Attention {
    unplaced: Listing<Eval>,
    failing: Listing<Alloc>,
    clients: Listing<Node>,
    deployments: Listing<Deployment>,
    preempted: Listing<Alloc>,
}

/// `/ui/`
async fn overview(visit: &Visit) -> Result<Page, PageError> {
    let (attention, health, sums, latest) =
        tokio::try_join!(attention(visit), servers(visit), utilisation(visit), latest(visit))?;
    let body = html! {
        (needs_attention(visit, &attention))
        (health)
        (sums)
        @if visit.source().is_live() {
            h2 { "Events" }
            ol.feed id="feed" data-keep {}
            p.muted { "Events are listed here while the page is open." }
        }
        @if visit.source().is_live() || !latest.rows.is_empty() {
            h2 { "Latest evaluations" }
            (evaluations::table(visit, &latest.rows, html! { "Nothing happened yet. " a href="/ui/plan" { "Plan and register a job" } "." }).markup())
        }
    };
    let topics = ["Job:*", "Node:*", "Allocation:*", "Deployment:*", "Evaluation:*"];
    Ok(Page::new(Area::Overview, "Overview", body).follows(topics))
}

/// A list of the overview: nothing of what the token may not see.
async fn some<T: DeserializeOwned>(request: Request<'_>) -> Result<Listing<T>, PageError> {
    match request.read().await {
        Err(e) if e.is_denied() => Ok(Listing::denied()),
        other => other,
    }
}

async fn attention(visit: &Visit) -> Result<Attention, PageError> {
    let list =
        |path, filter: &'static str| Request::new(visit, path).with("reverse", "true").at_most(SHOWN).only(filter);
    let failed = "(ClientStatus == \"failed\" or ClientStatus == \"lost\" or ClientStatus == \"unknown\") and \
                  DesiredStatus == \"run\" and NextAllocation == \"\"";
    let clients = "Status != \"ready\" or DrainStrategy is not nil or SchedulingEligibility != \"eligible\"";
    let active = "Status == \"running\" or Status == \"paused\" or Status == \"pending\" or Status == \"blocked\"";
    let (unplaced, failing, clients, mut deployments, preempted) = tokio::try_join!(
        some(list("/v1/evaluations", "Status == \"blocked\"")),
        some(list("/v1/allocations", failed).with("task_states", "false")),
        some(list("/v1/nodes", clients)),
        some(list("/v1/deployments", active).at_most(SUMMED)),
        some(list("/v1/allocations", "PreemptedByAllocation != \"\"").with("task_states", "false")),
    )?;
    // Those that wait for an operator come first.
    deployments.rows.sort_by_key(|d: &Deployment| !waits(d));
    Ok(Attention { unplaced, failing, clients, deployments, preempted })
}

/// Whether a deployment does not go on by itself.
fn waits(d: &Deployment) -> bool {
    d.waits_for_promotion() || d.status != DeploymentStatus::Running
}

fn needs_attention(visit: &Visit, a: &Attention) -> Markup {
    let waiting = a.deployments.rows.iter().filter(|d| waits(d)).count();
    let waiting = if a.deployments.is_known() { waiting.to_string() } else { a.deployments.count() };
    let tiles = [
        ("Unplaced", a.unplaced.count(), "jobs wait for capacity", "/ui/evaluations?status=blocked", Tone::Bad),
        (
            "Failing",
            a.failing.count(),
            "allocations failed or lost",
            "/ui/allocations?status=failed&desired=run",
            Tone::Bad,
        ),
        ("Clients", a.clients.count(), "down, disconnected or draining", "/ui/clients", Tone::Warning),
        ("Deployments", waiting, "wait for an operator", "/ui/deployments?status=running", Tone::Warning),
        ("Preempted", a.preempted.count(), "allocations", "/ui/allocations?preempted=true", Tone::Warning),
    ];
    let calm = tiles.iter().all(|(_, count, ..)| count == "0");
    let known = a.unplaced.is_known() && a.failing.is_known() && a.clients.is_known() && a.deployments.is_known();
    html! {
        @if !known {
            (notice(Tone::Warning, &html! { "Your token may not see everything. " a href="/ui/settings/tokens" { "Sign in" } }))
        }
        @if calm && known { (notice(Tone::Good, &html! { "Nothing needs attention." })) }
        @else {
            ul.tiles {
                @for (title, count, what, to, tone) in &tiles {
                    li class=[(!matches!(count.as_str(), "0" | "-")).then_some(tone.class())] { a href=(to) { (title) } b { (count) } small { (what) } }
                }
            }
        }
        (unplaced(&a.unplaced))
        @if !a.failing.rows.is_empty() {
            h2 { "Failing allocations" }
            (allocations::table(visit, &a.failing.rows, html! {}).captioned("Failing allocations").markup())
        }
        (clients(&a.clients.rows))
        @if !a.deployments.rows.is_empty() {
            h2 { "Active deployments" }
            (deployments::table(visit, a.deployments.rows.get(..SHOWN).unwrap_or(&a.deployments.rows), html! {}).markup())
        }
        @if !a.preempted.rows.is_empty() {
            h2 { "Preempted allocations" }
            (allocations::table(visit, &a.preempted.rows, html! {}).captioned("Preempted allocations").markup())
        }
    }
}

/// Jobs with unplaced allocations, and the reason that excludes the most nodes.
fn unplaced(found: &Listing<Eval>) -> Markup {
    let mut table =
        Table::new("Unplaced allocations", &["Job", "Unplaced", "Most frequent reason", "Evaluation"], html! {});
    for e in &found.rows {
        let mut reasons: BTreeMap<&str, i64> = BTreeMap::new();
        for metric in e.failed_tg_allocs.values() {
            for (reason, nodes) in metric.constraint_filtered.iter().chain(&metric.dimension_exhausted) {
                let sum = reasons.entry(reason).or_default();
                *sum = sum.saturating_add(*nodes);
            }
        }
        let most = reasons.into_iter().max_by_key(|(_, nodes)| *nodes);
        table.row([
            link::job(&e.namespace, &e.job_id),
            evaluations::unplaced(e),
            html! { @if let Some((reason, nodes)) = most { (reason) " (" (plural(usize::try_from(nodes).unwrap_or(0), "node")) ")" } @else { (e.status_description) } },
            link::evaluation(&e.id),
        ]);
    }
    html! { @if !found.rows.is_empty() { h2 { "Unplaced" } (table.markup()) } }
}

fn clients(nodes: &[Node]) -> Markup {
    let mut table =
        Table::new("Clients that are not ready", &["Client", "Status", "Scheduling", "Datacenter"], html! {});
    for n in nodes {
        table.row([
            link::client(&n.id, &n.name),
            html! { (state::of(&n.status)) " " span.muted { (n.status_description) } },
            if n.drain { state::state(Tone::Warning, "draining") } else { state::of(&n.scheduling_eligibility) },
            html! { (n.datacenter) },
        ]);
    }
    html! { @if !nodes.is_empty() { h2 { "Clients that are not ready" } (table.markup()) } }
}

/// The health of the servers, if the token may see it and the source has servers.
async fn servers(visit: &Visit) -> Result<Markup, PageError> {
    if !visit.source().is_live() {
        return Ok(html! {});
    }
    // An unhealthy cluster answers 429 with the same body; tokens without rights have no answer.
    let answer = visit.read_any::<Servers>("/v1/operator/autopilot/health", &[]).await;
    let Ok(found) = answer else { return Ok(html! {}) };
    Ok(html! {
        @if !found.servers.is_empty() {
            h2 { "Servers" }
            p {
                @if found.healthy { (state::state(Tone::Good, "healthy")) } @else { (state::state(Tone::Bad, "unhealthy")) } ", "
                (found.failure_tolerance) " may fail: "
                @for s in &found.servers {
                    a href="/ui/servers" { (s.name) } " "
                    @if s.leader { "(leader) " }
                    @if !s.healthy { span.alarm { "unhealthy " } }
                }
            }
        }
    })
}

/// How many objects there are, and how much of the ready clients is allocated.
async fn utilisation(visit: &Visit) -> Result<Markup, PageError> {
    let list = |path| Request::new(visit, path).at_most(SUMMED);
    let running = "ClientStatus == \"running\" or (ClientStatus == \"pending\" and DesiredStatus == \"run\")";
    let (nodes, allocations, jobs) = tokio::try_join!(
        some::<Node>(list("/v1/nodes").with("resources", "true")),
        some::<Alloc>(list("/v1/allocations").with("resources", "true").with("task_states", "false").only(running)),
        some::<JobRow>(list("/v1/jobs").only("Stop == false")),
    )?;
    let ready = nodes.rows.iter().filter(|n| n.status == NodeStatus::Ready);
    let (cpu, memory) = ready.fold((0_i64, 0_i64), |(cpu, memory), n| {
        let r = &n.node_resources;
        (cpu.saturating_add(r.cpu_mhz()), memory.saturating_add(r.memory_mib()))
    });
    let tasks = allocations.rows.iter().filter_map(|a| a.allocated_resources.as_ref()).flat_map(|r| r.tasks.values());
    let (used_cpu, used_memory) = tasks.fold((0_i64, 0_i64), |(cpu, memory), t| {
        (cpu.saturating_add(t.cpu.cpu_shares), memory.saturating_add(t.memory.memory_mb))
    });
    let datacenters: BTreeSet<&str> = nodes.rows.iter().map(|n| n.datacenter.as_str()).collect();
    let counted = nodes.next.is_none() && allocations.next.is_none();
    Ok(html! {
        h2 { "Cluster" }
        ul.tiles {
            li { a href="/ui/jobs" { "Jobs" } b { (jobs.count()) } small { "not stopped" } }
            li { a href="/ui/allocations?status=running" { "Allocations" } b { (allocations.count()) } small { "running or starting" } }
            li { a href="/ui/clients" { "Clients" } b { (nodes.count()) } small { "in " (plural(datacenters.len(), "datacenter")) } }
        }
        @if counted {
            p { "CPU allocated: " (meter("CPU allocated", used_cpu, cpu, "MHz")) }
            p { "Memory allocated: " (meter("Memory allocated", used_memory, memory, "MiB")) }
        } @else {
            p { a href="/ui/topology" { "The topology" } " shows how much is allocated, client by client." }
        }
    })
}

async fn latest(visit: &Visit) -> Result<Listing<Eval>, PageError> {
    some(Request::new(visit, "/v1/evaluations").with("reverse", "true").at_most(LATEST)).await
}
