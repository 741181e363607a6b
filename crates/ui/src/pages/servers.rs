//! Servers: members, Raft, health, queues, and the log of each.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Response, StatusCode, header};
use encamp_model::Time;
use maud::{Markup, html};
use serde::de::DeserializeOwned;

use super::data::answers;
use super::routes::{Routes, handler, stream};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::state::{Tone, notice, state};
use crate::parts::table::{Table, facts, values};
use crate::parts::{form, time};
use crate::visit::{Visit, path, with_query};

pub(crate) const ROUTES: Routes = Routes {
    pages: &[("/ui/servers", handler!(list)), ("/ui/servers/{name}", handler!(server))],
    actions: &[],
    streams: &[("/ui/servers/{name}/monitor", stream!(monitor))],
};

/// Gauges of queues: what they are called, and what an operator reads in them.
const QUEUES: [(&str, &str); 9] = [
    ("nomad.nomad.broker.total_ready", "Evaluations ready for a scheduler"),
    ("nomad.nomad.broker.total_unacked", "Evaluations in work"),
    ("nomad.nomad.broker.total_pending", "Evaluations behind one of the same job"),
    ("nomad.nomad.broker.total_waiting", "Evaluations that wait for their time"),
    ("nomad.nomad.broker.total_cancelable", "Evaluations shed as redundant, to be cancelled"),
    ("nomad.nomad.blocked_evals.total_blocked", "Evaluations blocked until there is capacity"),
    ("nomad.nomad.blocked_evals.total_quota_limit", "Evaluations blocked by a quota"),
    ("nomad.nomad.plan.queue_depth", "Plans in the queue"),
    ("nomad.nomad.heartbeat.active", "Clients with heartbeats"),
];
const LEVELS: [(&str, &str); 5] =
    [("trace", "trace"), ("debug", "debug"), ("info", "info"), ("warn", "warn"), ("error", "error")];

answers! {
    /// The members of the gossip pool.
    Members {
        members: Vec<Member>,
    }
    /// A server.
    Member {
        name: String,
        addr: String,
        port: u16,
        status: String,
        tags: BTreeMap<String, String>,
    }
    /// The Raft configuration.
    Raft {
        servers: Vec<Peer>,
    }
    /// A Raft peer.
    Peer {
        #[serde(rename = "ID")]
        id: String,
        node: String,
        leader: bool,
        voter: bool,
    }
    /// The health of the servers.
    Health {
        healthy: bool,
        failure_tolerance: i64,
        servers: Vec<ServerHealth>,
    }
    /// The health of a server.
    ServerHealth {
        #[serde(rename = "ID")]
        id: String,
        name: String,
        healthy: bool,
        last_contact: String,
        last_term: u64,
        last_index: u64,
        stable_since: Time,
    }
    /// The metrics of an interval.
    Metrics {
        timestamp: String,
        gauges: Vec<Gauge>,
    }
    /// A gauge.
    Gauge {
        name: String,
        value: f64,
    }
}

/// What the operator API says; each part only if the token may read it.
struct Operator {
    raft: Option<Raft>,
    health: Option<Health>,
}

impl Operator {
    async fn read(visit: &Visit) -> Result<Operator, PageError> {
        let raft = optional(visit, visit.read("/v1/operator/raft/configuration", &[]).await)?;
        let health = match visit.read("/v1/operator/autopilot/health", &[]).await {
            // An unhealthy cluster has the same answer with another status.
            Err(PageError::Api { status: StatusCode::TOO_MANY_REQUESTS, text }) => serde_json::from_str(&text).ok(),
            other => optional(visit, other)?,
        };
        Ok(Operator { raft, health })
    }

    fn peer(&self, member: &Member) -> Option<&Peer> {
        let id = member.tags.get("id");
        self.raft.as_ref()?.servers.iter().find(|peer| Some(&peer.id) == id || peer.node == member.name)
    }

    fn health(&self, member: &Member) -> Option<&ServerHealth> {
        let id = member.tags.get("id");
        self.health.as_ref()?.servers.iter().find(|server| Some(&server.id) == id || server.name == member.name)
    }
}

/// What is not shown if the token may not read it, or the cluster does not have it. A file has nothing of servers.
fn optional<T: DeserializeOwned>(visit: &Visit, read: Result<T, PageError>) -> Result<Option<T>, PageError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.is_denied() || e.status() == StatusCode::NOT_FOUND || !visit.source().is_live() => Ok(None),
        Err(e) => Err(e),
    }
}

/// `/ui/servers`
async fn list(visit: &Visit) -> Result<Page, PageError> {
    let members: Option<Members> = optional(visit, visit.read("/v1/agent/members", &[]).await)?;
    let empty = match members {
        None if visit.source().is_live() => {
            html! { "Your token may not see the servers: it needs a policy with " code { "node { policy = \"read\" }" } "." }
        }
        _ => html! { "A file has no servers, only their state." },
    };
    let mut members = members.unwrap_or_default();
    members.members.sort_by(|a, b| a.name.cmp(&b.name));
    let operator = Operator::read(visit).await?;
    let metrics: Option<Metrics> = optional(visit, visit.read("/v1/metrics", &[]).await)?;
    let columns =
        ["Name", "State", "Role", "Address", "Datacenter", "Version", "Health", "Last contact#", "Last index#"];
    let mut table = Table::new("Servers", &columns, empty);
    for member in &members.members {
        let health = operator.health(member);
        table.row([
            html! { a href=(path("/ui/servers/", &member.name, "")) { (member.name) } },
            member_state(&member.status),
            html! { (role(&operator, member)) },
            html! { (member.addr) ":" (member.port) },
            html! { (tag(member, "dc")) },
            html! { (tag(member, "build")) },
            health_state(health),
            html! { (health.map_or("-", |h| h.last_contact.as_str())) },
            html! { @if let Some(health) = health { (health.last_index) } @else { "-" } },
        ]);
    }
    let body = html! {
        @if let Some(health) = &operator.health { (verdict(health)) }
        (table.markup())
        @if let Some(metrics) = metrics.filter(|_| visit.source().is_live()) { h2 { "Queues" } (queues(&metrics)) }
    };
    Ok(Page::new(Area::Servers, "Servers", body).follows(["Operator:*"]))
}

fn verdict(health: &Health) -> Markup {
    let may_fail = match health.failure_tolerance {
        0 => "If one fails, the cluster has no leader.".to_string(),
        1 => "One can fail without an outage.".to_string(),
        n => format!("{n} can fail without an outage."),
    };
    let (tone, verdict) = match (health.healthy, health.failure_tolerance) {
        (true, 0) => (Tone::Neutral, "The servers are healthy."),
        (true, _) => (Tone::Good, "The servers are healthy."),
        (false, _) => (Tone::Bad, "Some servers are unhealthy."),
    };
    notice(tone, &html! { p { (verdict) " " (may_fail) } })
}

fn queues(metrics: &Metrics) -> Markup {
    let mut table =
        Table::new("Queues", &["Queue", "Length#"], html! { "The contacted agent has no metrics of queues." });
    for (name, title) in QUEUES {
        // A follower has the gauges of queues too, and they are 0.
        let values = metrics.gauges.iter().filter(|gauge| gauge.name == name).map(|gauge| gauge.value);
        if let Some(value) = values.reduce(|a, b| a + b) {
            table.row([html! { span title=(name) { (title) } }, html! { (value) }]);
        }
    }
    html! { (table.markup()) p.muted { "Of the contacted agent, for the interval that ended at " (metrics.timestamp) ". The queues are those of the leader." } }
}

fn tag<'a>(member: &'a Member, name: &str) -> &'a str {
    member.tags.get(name).map_or("-", String::as_str)
}

fn role(operator: &Operator, member: &Member) -> &'static str {
    match operator.peer(member) {
        Some(Peer { leader: true, .. }) => "leader",
        Some(Peer { voter: true, .. }) => "follower",
        Some(_) => "non-voter",
        None => "-",
    }
}

fn member_state(status: &str) -> Markup {
    let tone = match status {
        "alive" => Tone::Good,
        "leaving" => Tone::Pending,
        "left" => Tone::Neutral,
        _ => Tone::Bad,
    };
    state(tone, status)
}

fn health_state(health: Option<&ServerHealth>) -> Markup {
    match health {
        Some(health) if health.healthy => state(Tone::Good, "healthy"),
        Some(_) => state(Tone::Bad, "unhealthy"),
        None => html! { "-" },
    }
}

/// `/ui/servers/{name}`
async fn server(visit: &Visit) -> Result<Page, PageError> {
    let name = visit.name("name");
    let members: Members = visit.read("/v1/agent/members", &[]).await?;
    let missing = || PageError::Missing { kind: "server", name: name.to_string() };
    let member = members.members.iter().find(|m| m.name == name).ok_or_else(missing)?;
    let operator = Operator::read(visit).await?;
    let health = operator.health(member);
    let level = visit.parameter("log_level").filter(|l| LEVELS.iter().any(|known| known.0 == *l)).unwrap_or("info");
    let monitor = with_query(&path("/ui/servers/", name, "/monitor"), &[("log_level", level)]);
    let body = html! {
        (facts(&[
            ("State", member_state(&member.status)),
            ("Role", html! { (role(&operator, member)) }),
            ("Health", health_state(health)),
            ("Address", html! { (member.addr) ":" (member.port) }),
            ("Last contact with the leader", html! { (health.map_or("-", |h| h.last_contact.as_str())) }),
            ("Last term and index", html! { @if let Some(h) = health { (h.last_term) ", " (h.last_index) } @else { "-" } }),
            ("Stable since", time::moment(visit, health.and_then(|h| h.stable_since.unix_nanos()).unwrap_or(0))),
        ]))
        @if visit.source().is_live() {
            h2 { "Log" }
            (form::filter(visit, &form::choice("log_level", "Lowest level", level, &LEVELS)))
            div.actions {
                a.button href=(monitor) { "As text" }
                button type="button" id="pause" aria-pressed="false" hidden { "Pause" }
            }
            p.muted #log-state role="status" { "The log is followed by a script." }
            pre.log id="log" role="log" tabindex="0" aria-label="Log of the server" data-keep data-log=(monitor) {}
        }
        (values("Tags", &member.tags))
    };
    let assets: &[&str] = if visit.source().is_live() { &["logs.js"] } else { &[] };
    Ok(Page::new(Area::Servers, name, body).below("Servers", "/ui/servers").with_assets(assets))
}

/// `/ui/servers/{name}/monitor`: the log of a server as it is written.
async fn monitor(visit: Visit, _: Request) -> Result<Response<Body>, PageError> {
    visit.live_only()?;
    let level = visit.parameter("log_level").unwrap_or("info");
    let query = [("server_id", visit.name("name")), ("log_level", level), ("plain", "true")];
    let request = Request::get(with_query("/v1/agent/monitor", &query)).body(Body::empty());
    let answer = visit.forward(request.map_err(|e| PageError::Input(e.to_string()))?).await?;
    if !answer.status().is_success() {
        let text = format!("The cluster answered {} to the request for the log.", answer.status());
        return Err(PageError::Api { status: answer.status(), text });
    }
    let mut response = Response::new(answer.into_body());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    Ok(response)
}
