//! Worker pools: their state, the next decision explained, and what happened to their nodes.

use axum::http::Method;
use encamp_acl::{Level, Need};
use encamp_model::json::null_is_default;
use encamp_model::{NodeEvent, Time};
use futures_util::future::join_all;
use maud::{Markup, html};
use serde::Deserialize;

use super::ask::{self, Question, table};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::pages::Done;
use crate::parts::command::{Command, Outcome, answer};
use crate::parts::state::{Tone, state, verdict};
use crate::parts::table::facts;
use crate::parts::{form, link, time};
use crate::visit::{self, Visit};

pub(crate) const QUESTION: Question = Question {
    path: "/ui/worker-pools",
    title: "Worker pools",
    about: "The pools that the autoscaler keeps just large enough, the last decision about each, and the next decision \
            explained. Nothing is scaled by looking.",
};

/// The most nodes of a pool whose history is read.
const MOST_NODES: usize = 25;
/// The most events of the history.
const MOST_EVENTS: usize = 50;

/// `/ui/worker-pools`
pub(crate) async fn list(visit: &Visit) -> Result<Page, PageError> {
    let status = status(visit).await?;
    let command = plan_command(None);
    let plan = ask::outcome::<Plan>(visit, &command).await?;
    let body = html! {
        p { (QUESTION.about) }
        @if let Some(status) = &status { (states(visit, status)) }
        h2 { "Next decisions" }
        (ask::answered(visit, &command, &plan, decisions))
    };
    Ok(Page::new(Area::Questions, QUESTION.title, body).with_assets(ask::ASSETS).below("Questions", "/ui/questions"))
}

/// `/ui/worker-pools/{pool}`
pub(crate) async fn one(visit: &Visit) -> Result<Page, PageError> {
    let name = visit.name("pool");
    let status = status(visit).await?.unwrap_or_default().into_iter().find(|s| s.pool == name);
    let command = plan_command(Some(name));
    let plan = ask::outcome::<Plan>(visit, &command).await?;
    let history = match &plan {
        Some(Outcome::Answer(found)) => history(visit, &found.value).await,
        _ => Vec::new(),
    };
    let body = html! {
        @if let Some(status) = &status { (state_of(visit, status)) }
        h2 { "Next decision" }
        (ask::answered(visit, &command, &plan, |plan| html! {
            @for pool in &plan.pools { (explained(pool)) }
            (problems(plan))
            (events(visit, &history))
        }))
    };
    let page = Page::new(Area::Questions, format!("Worker pool {name}"), body).with_assets(ask::ASSETS);
    Ok(page.below("Questions", "/ui/questions").below("Worker pools", QUESTION.path))
}

fn plan_command(pool: Option<&str>) -> Command {
    let command = Command::new(&["autoscale", "plan"]).quiet("-json");
    pool.into_iter().fold(command, Command::argument)
}

fn address(pool: &str) -> String {
    visit::path("/ui/worker-pools/", pool, "")
}

/// The state of a pool, as the leader tells it.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Status {
    pool: String,
    nodes: i64,
    min: i64,
    max: i64,
    metric: String,
    utilization: i64,
    max_allowed: i64,
    direction: String,
    scale_in_requests: i64,
    scale_out_requests: i64,
    cooldown_left: i64,
    failsafe: bool,
    failsafe_admin: String,
    failures: i64,
    operation: String,
    last_decision: LastDecision,
    problems: Vec<String>,
}

#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct LastDecision {
    time: Time,
    action: String,
    reason: String,
}

/// The states of the pools; none where the servers do not scale pools.
async fn status(visit: &Visit) -> Result<Option<Vec<Status>>, PageError> {
    if visit.source().is_live() { visit.find("/v1/autoscale/pools", &[]).await } else { Ok(None) }
}

fn states(visit: &Visit, all: &[Status]) -> Markup {
    let columns = ["Pool", "Nodes", "Metric", "Used#", "Allowed#", "Direction", "Cooldown", "Last decision"];
    table(
        "State",
        &columns,
        all,
        "No node belongs to a worker pool: set replicator_* in the meta of client nodes.",
        |s| {
            vec![
                html! { a href=(address(&s.pool)) { (s.pool) } @if s.failsafe { " " (state(Tone::Bad, "failsafe")) } },
                html! { (s.nodes) " (" (s.min) "-" (s.max) ")" },
                html! { (if s.metric.is_empty() { "-" } else { &s.metric }) },
                html! { (s.utilization) },
                html! { (s.max_allowed) },
                html! { (s.direction) },
                html! { (time::duration(s.cooldown_left)) },
                last(visit, &s.last_decision),
            ]
        },
    )
}

fn last(visit: &Visit, decision: &LastDecision) -> Markup {
    html! {
        (decision.action.replace('_', " ")) " " (time::moment(visit, nanos(decision.time)))
        @if !decision.reason.is_empty() { p.muted { (decision.reason) } }
    }
}

fn state_of(visit: &Visit, s: &Status) -> Markup {
    html! {
        @if s.failsafe { (verdict(Tone::Bad, "The pool is in failsafe mode: the autoscaler does nothing for it.")) }
        (facts(&[
            ("Nodes", html! { (s.nodes) " (" (s.min) " to " (s.max) " allowed)" }),
            ("Used", html! { (s.utilization) " of " (s.max_allowed) " allowed, " (s.metric) }),
            ("Requests to scale in", html! { (s.scale_in_requests) }),
            ("Requests to scale out", html! { (s.scale_out_requests) }),
            ("Cooldown left", html! { (time::duration(s.cooldown_left)) }),
            ("Failures", html! { (s.failures) }),
            ("Failsafe mode", html! { @if s.failsafe { "on" } @else { "off" } @if !s.failsafe_admin.is_empty() { ", set by " (s.failsafe_admin) } }),
            ("Operation", html! { (if s.operation.is_empty() { "none" } else { &s.operation }) }),
            ("Last decision", last(visit, &s.last_decision)),
        ]))
        (ask::notes(&s.problems))
        @if visit.offers(&Need::Operator(Level::Write)) { (failsafe(visit, s)) }
    }
}

/// The form that enters or leaves failsafe mode.
fn failsafe(visit: &Visit, s: &Status) -> Markup {
    let (label, question) = if s.failsafe {
        ("Leave failsafe mode", "The autoscaler scales the pool again.")
    } else {
        ("Enter failsafe mode", "The autoscaler does nothing for the pool until an operator ends this.")
    };
    form::action(
        visit,
        &format!("{}/failsafe", address(&s.pool)),
        &html! {
            input type="hidden" name="enable" value=(!s.failsafe);
            button type="submit" data-question=(question) { (label) }
        },
    )
}

/// `POST /ui/worker-pools/{pool}/failsafe`
pub(crate) async fn set_failsafe(visit: &Visit) -> Result<Done, PageError> {
    let pool = visit.name("pool");
    let enable = visit.required("enable", "The mode")? == "true";
    let body = serde_json::json!({ "Enable": enable });
    let path = visit::path("/v1/autoscale/pool/", pool, "/failsafe");
    visit.write::<serde_json::Value>(Method::PUT, &path, &[], &body).await?;
    let message = if enable { "The pool is in failsafe mode." } else { "The pool has left failsafe mode." };
    Ok(Done::new(address(pool), message))
}

answer! {
    /// The answer of `autoscale plan -json`.
    struct Plan { pools: Vec<Pool>, problems: Vec<String> }

    struct Pool {
        pool: String, min: i64, max: i64, arithmetic: Arithmetic, checks: Vec<Check>, candidates: Vec<Node>,
        protected: Vec<Node>, outcome: Decided, sentence: String, problems: Vec<String>,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decided {
    Failsafe,
    InProgress,
    Denied,
    Requested,
    ScaleOut,
    ScaleIn,
}

impl Decided {
    fn tone(self) -> Tone {
        match self {
            Decided::Failsafe => Tone::Bad,
            Decided::InProgress | Decided::ScaleOut | Decided::ScaleIn => Tone::Pending,
            Decided::Denied | Decided::Requested => Tone::Neutral,
        }
    }
}

answer! {
    struct Arithmetic {
        nodes: u64, total: Amounts, consumed: Amounts, reserve: Amounts, metric: Option<String>, average_node: i64,
        fault_tolerance: u64, max_allowed: u64, direction: String, step: u64,
    }

    /// CPU in MHz, memory and disk in MB.
    struct Amounts { cpu = "CPU": i64, memory = "MemoryMB": i64, disk = "DiskMB": i64 }

    struct Check { check: String, passed: bool, detail: String }

    struct Node { id = "ID": String, name: String, reason: Option<String> }
}

fn decisions(plan: &Plan) -> Markup {
    let columns = ["Pool", "Nodes#", "Min#", "Max#", "Direction", "Next decision"];
    html! {
        (table("By pool", &columns, &plan.pools, "No node belongs to a worker pool: set replicator_* in the meta of client nodes.", |p| vec![
            html! { a href=(address(&p.pool)) { (p.pool) } },
            html! { (p.arithmetic.nodes) }, html! { (p.min) }, html! { (p.max) }, html! { (p.arithmetic.direction) },
            html! { (p.sentence) },
        ]))
        (problems(plan))
    }
}

fn problems(plan: &Plan) -> Markup {
    ask::notes(&plan.problems)
}

fn explained(p: &Pool) -> Markup {
    let a = &p.arithmetic;
    let rows = [
        ("CPU (MHz)", a.total.cpu, a.consumed.cpu, a.reserve.cpu),
        ("Memory (MB)", a.total.memory, a.consumed.memory, a.reserve.memory),
        ("Disk (MB)", a.total.disk, a.consumed.disk, a.reserve.disk),
    ];
    html! {
        (verdict(p.outcome.tone(), &p.sentence))
        (ask::notes(&p.problems))
        (facts(&[
            ("Nodes", html! { (a.nodes) " (" (p.min) " to " (p.max) " allowed)" }),
            ("Metric", html! { (a.metric.as_deref().unwrap_or("nothing is used")) }),
            ("Allowed", html! { (a.max_allowed) ": total less reserve, less " (a.fault_tolerance) " average nodes of " (a.average_node) }),
            ("Direction", html! { (a.direction) ", by " (a.step) }),
        ]))
        (table("Resources", &["Resource", "Total#", "Used#", "Reserve#"], &rows, "", |(name, total, used, reserve)| vec![
            html! { (name) }, html! { (total) }, html! { (used) }, html! { (reserve) },
        ]))
        (table("Checks, up to the first that fails", &["Check", "Result", "Why"], &p.checks, "No check was necessary.", |c| vec![
            html! { (c.check.replace('_', " ")) },
            if c.passed { state(Tone::Good, "passed") } else { state(Tone::Bad, "failed") },
            html! { (c.detail) },
        ]))
        @if !p.candidates.is_empty() {
            h3 { "Nodes that could leave, best first" }
            p { @for n in &p.candidates { (link::client(&n.id, &n.name)) " " } }
        }
        @if !p.protected.is_empty() {
            (table("Nodes that are never removed", &["Node", "Because of"], &p.protected, "", |n| vec![
                link::client(&n.id, &n.name), html! { (n.reason.as_deref().unwrap_or("-")) },
            ]))
        }
    }
}

/// What happened to a node of the pool.
struct Event {
    id: String,
    name: String,
    event: NodeEvent,
}

/// What a page reads of a node.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct NodeHistory {
    events: Vec<NodeEvent>,
}

/// What happened to the nodes of a pool, newest first. Nodes that cannot be read are left out.
async fn history(visit: &Visit, plan: &Plan) -> Vec<Event> {
    let nodes = plan.pools.iter().flat_map(|p| p.candidates.iter().chain(&p.protected)).take(MOST_NODES);
    let read = nodes.map(async |n| (n, visit.read::<NodeHistory>(&visit::path("/v1/node/", &n.id, ""), &[]).await));
    let mut events: Vec<Event> = Vec::new();
    for (node, found) in join_all(read).await {
        let found = found.unwrap_or_default().events.into_iter();
        events.extend(found.map(|event| Event { id: node.id.clone(), name: node.name.clone(), event }));
    }
    events.sort_by_key(|e| std::cmp::Reverse(nanos(e.event.timestamp)));
    events.truncate(MOST_EVENTS);
    events
}

fn nanos(time: Time) -> i64 {
    time.unix_nanos().unwrap_or(0)
}

fn events(visit: &Visit, events: &[Event]) -> Markup {
    table("History of its nodes", &["Time", "Node", "Event"], events, "Nothing is recorded.", |e| {
        vec![time::moment(visit, nanos(e.event.timestamp)), link::client(&e.id, &e.name), html! { (e.event.message) }]
    })
}
