//! The agent itself: its configuration, the cluster's members, its health (`docs/spec/http-api.md §5.1`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::monitor;
use crate::access::right::{Level, Need};
use crate::agent::control::{AgentStats, ProfileKind};
use crate::agent::local_client::LocalClient;
use crate::agent::state::AppState;
use crate::error::{Error, multi_error};
use crate::request::Request;
use crate::request::params::{decimal_uint, parse_bool};
use crate::request::response::{Outcome, Response};
use encamp_model::{JobType, Time};
use encamp_raft::Member;
use encamp_server::Server;
use encamp_server::leadership::peers::{KnownServer, Status};

/// The warning of a join by a caller without the right to write to agents.
const ANONYMOUS_JOIN: &str = "anonymous server join is deprecated and will be removed in a future version of Nomad";

/// A server as its peers see it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
struct ServerMember {
    name: String,
    addr: String,
    port: u16,
    tags: BTreeMap<&'static str, String>,
    status: String,
    protocol_min: u8,
    protocol_max: u8,
    protocol_cur: u8,
    delegate_min: u8,
    delegate_max: u8,
    delegate_cur: u8,
}

fn host_port(address: &str) -> (&str, &str) {
    address.rsplit_once(':').unwrap_or((address, "0"))
}

fn member(app: &AppState, k: &KnownServer) -> ServerMember {
    let (rpc_addr, port) = host_port(&k.rpc);
    let mut tags = BTreeMap::from([
        ("role", "nomad".to_string()),
        ("region", k.region.clone()),
        ("dc", k.datacenter.clone()),
        ("build", app.settings().version.clone()),
        ("revision", String::new()),
        ("id", k.id.to_string()),
        ("port", port.to_string()),
        ("rpc_addr", rpc_addr.to_string()),
        ("vsn", "1".to_string()),
        ("raft_vsn", "3".to_string()),
    ]);
    if let Some(level) = k.level {
        tags.insert("capability_level", level.to_string());
    }
    if k.expect == 1 {
        tags.insert("bootstrap", "1".to_string());
    }
    if k.expect > 0 {
        tags.insert("expect", k.expect.to_string());
    }
    ServerMember {
        name: k.name.clone(),
        addr: k.serf.ip().to_string(),
        port: k.serf.port(),
        tags,
        status: k.status.word().into(),
        protocol_min: 1,
        protocol_max: 5,
        protocol_cur: 2,
        delegate_min: 2,
        delegate_max: 5,
        delegate_cur: 4,
    }
}

/// The servers that know each other; for a server without any order of the kind, those of the log.
fn known(app: &AppState, server: &Server) -> Vec<KnownServer> {
    if let Some(membership) = app.membership() {
        return membership.members();
    }
    let servers = server.consensus().configuration().servers;
    let alone = servers.len() == 1;
    let one = |m: Member| KnownServer {
        id: m.id,
        name: m.peer.name,
        region: app.settings().region.clone(),
        datacenter: app.settings().datacenter.clone(),
        serf: m.peer.address.parse().unwrap_or_else(|_| ([0, 0, 0, 0], 0).into()),
        rpc: m.peer.address,
        expect: u32::from(alone),
        status: Status::Alive,
        level: (m.id.to_string() == server.settings().id).then(encamp_host::capability::own),
    };
    servers.into_iter().map(one).collect()
}

fn all_members(app: &AppState, server: &Server) -> Vec<ServerMember> {
    known(app, server).iter().map(|k| member(app, k)).collect()
}

fn full_name(app: &AppState) -> String {
    format!("{}.{}", app.settings().name, app.settings().region)
}

pub(crate) async fn own(request: Request) -> Outcome {
    let app = request.app();
    let mut stats: AgentStats = app.agent().stats();
    let mut config = app.agent().config();
    if let Value::Object(c) = &mut config {
        // Members that clients read whatever the agent shows.
        c.entry("Region").or_insert_with(|| app.settings().region.clone().into());
        c.entry("Datacenter").or_insert_with(|| app.settings().datacenter.clone().into());
        c.entry("Version").or_insert_with(|| {
            json!({"Version": app.settings().version, "VersionPrerelease": "", "VersionMetadata": "", "Revision": ""})
        });
    }
    show_admission(app, &mut config);
    let mut shown = ServerMember::default();
    if let Some(server) = app.server() {
        stats.extend(server_stats(app, server));
        let name = full_name(app);
        shown = all_members(app, server).into_iter().find(|m| m.name == name).unwrap_or_default();
    }
    if let Some(client) = app.client() {
        stats.extend(client.stats());
    }
    Response::json(
        &json!({ "config": config, "member": serde_json::to_value(shown).unwrap_or_default(), "stats": stats }),
    )
}

/// Shows the settings that admission of jobs depends on, in the members where clients look for them.
fn show_admission(app: &AppState, config: &mut Value) {
    let Value::Object(members) = config else { return };
    let own = app.server().map(|s| s.settings().admission.clone()).unwrap_or_default();
    let vault =
        json!({ "Name": "default", "Enabled": own.vault_enabled, "DefaultIdentity": own.vault_default_identity });
    let consul = json!({
        "Name": "default", "ServiceIdentity": own.consul_service_identity, "TaskIdentity": own.consul_task_identity,
    });
    members.insert("Vaults".into(), json!([vault]));
    members.insert("Consuls".into(), json!([consul]));
}

/// Figures of the server as `agent-info` prints them.
fn server_stats(app: &AppState, server: &Server) -> AgentStats {
    let raft = server.consensus().stats();
    let texts = |pairs: &[(&str, String)]| pairs.iter().map(|(k, v)| ((*k).to_string(), v.clone())).collect();
    let leader = server.consensus().leads();
    let servers = known(app, server);
    let count = |status| servers.iter().filter(|k| k.status == status).count().to_string();
    let own = full_name(app);
    let alone = servers.iter().any(|k| k.name == own && k.expect == 1);
    let encrypted = app.membership().is_some_and(|m| m.encrypted());
    let contact = match raft.last_contact {
        None => "never".to_string(),
        Some(d) if d.is_zero() => "0".to_string(),
        Some(d) => encamp_model::format_duration(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX)),
    };
    let mut stats = AgentStats::from([
        (
            "nomad".to_string(),
            texts(&[
                ("server", "true".into()),
                ("leader", leader.to_string()),
                ("leader_addr", server.leader_address().unwrap_or_default()),
                ("bootstrap", alone.to_string()),
                ("known_regions", "1".into()),
                ("capability_level", encamp_host::capability::own().to_string()),
                ("cluster_capability_level", server.snapshot().capability_level().to_string()),
            ]),
        ),
        (
            "raft".to_string(),
            texts(&[
                ("state", raft.role.name().into()),
                ("term", raft.term.to_string()),
                ("last_log_index", raft.last_log_index.to_string()),
                ("last_log_term", raft.last_log_term.to_string()),
                ("commit_index", raft.commit_index.to_string()),
                ("applied_index", raft.applied_index.to_string()),
                ("fsm_pending", raft.fsm_pending.to_string()),
                ("last_snapshot_index", raft.last_snapshot_index.to_string()),
                ("last_snapshot_term", raft.last_snapshot_term.to_string()),
                ("latest_configuration_index", raft.latest_configuration_index.to_string()),
                ("num_peers", raft.num_peers.to_string()),
                ("last_contact", contact),
                ("protocol_version", "3".into()),
                ("protocol_version_min", "0".into()),
                ("protocol_version_max", "3".into()),
                ("snapshot_version_min", "0".into()),
                ("snapshot_version_max", "1".into()),
            ]),
        ),
        (
            "serf".to_string(),
            texts(&[
                ("members", servers.len().to_string()),
                ("failed", count(Status::Failed)),
                ("left", count(Status::Left)),
                ("health_score", "0".into()),
                ("encrypted", encrypted.to_string()),
            ]),
        ),
    ]);
    let health = server.consensus().storage_health();
    if let Some(raft) = stats.get_mut("raft").filter(|_| health.in_doubt || !health.damages.is_empty()) {
        raft.insert("damaged_files".into(), health.damages.len().to_string());
        raft.insert("in_doubt".into(), health.in_doubt.to_string());
    }
    stats
}

pub(crate) async fn members(request: Request) -> Outcome {
    let app = request.app();
    let members = all_members(app, request.server()?);
    Response::json(&json!({
        "ServerName": app.settings().name,
        "ServerRegion": app.settings().region,
        "ServerDC": app.settings().datacenter,
        "Members": serde_json::to_value(members).unwrap_or_default(),
    }))
}

/// The node agent of this process.
fn local_client(request: &Request) -> Result<&Arc<dyn LocalClient>, Error> {
    request.app().client().ok_or_else(|| Error::new(501, "Invalid method"))
}

pub(crate) async fn servers(request: Request) -> Outcome {
    let client = local_client(&request)?;
    request.authorize()?;
    Response::json(&client.servers())
}

pub(crate) async fn set_servers(request: Request) -> Outcome {
    let client = local_client(&request)?;
    request.authorize()?;
    let addresses: Vec<String> = request.query().all("address").map(String::from).collect();
    if addresses.is_empty() {
        return Err(Error::bad("missing server address"));
    }
    client.set_servers(addresses).await?;
    Ok(Response::empty())
}

/// Refuses other methods of `/v1/agent/servers`: 501 if no node agent runs here, else 405.
pub(crate) async fn no_servers_method(request: Request) -> Outcome {
    local_client(&request)?;
    Err(Error::method())
}

pub(crate) async fn join(request: Request) -> Outcome {
    if request.app().server().is_none() {
        return Err(Error::new(501, "Invalid method"));
    }
    let addresses: Vec<String> = request.query().all("address").map(String::from).collect();
    if addresses.is_empty() {
        return Err(Error::bad("missing address to join"));
    }
    let (joined, errors) = match request.app().membership() {
        Some(membership) => membership.join(addresses).await,
        None => (0, addresses.iter().map(|a| format!("failed to join {a}: this server stays alone")).collect()),
    };
    let error = if errors.is_empty() { String::new() } else { multi_error(&errors) };
    let may_join = request.access().is_ok_and(|a| a.allows(&Need::Agent(Level::Write)));
    let warning = if may_join { "" } else { ANONYMOUS_JOIN };
    Response::json(&json!({ "num_joined": joined, "error": error, "warning": warning }))
}

pub(crate) async fn force_leave(request: Request) -> Outcome {
    if request.app().server().is_none() {
        return Err(Error::new(501, "Invalid method"));
    }
    if request.query().get("node").is_empty() {
        return Err(Error::bad("missing node to force leave"));
    }
    let prune = request.query().get("prune");
    if !prune.is_empty() && parse_bool(prune).is_err() {
        return Err(Error::bad("invalid prune value"));
    }
    if let Some(membership) = request.app().membership() {
        let prune = !prune.is_empty() && parse_bool(prune) == Ok(true);
        membership.force_leave(request.query().get("node").to_string(), prune).await;
    }
    Ok(Response::empty())
}

pub(crate) async fn health(request: Request) -> Outcome {
    let asked: Vec<&str> = request.query().all("type").collect();
    let wanted = |part: &str| asked.is_empty() || asked.contains(&part);
    let app = request.app();
    let mut parts = serde_json::Map::new();
    let mut well = true;
    let mut tell = |part: &str, problem: Option<String>| {
        let ok = problem.is_none();
        well &= ok;
        parts.insert(part.into(), json!({ "ok": ok, "message": problem.as_deref().unwrap_or("ok") }));
    };
    if wanted("client") {
        match app.client() {
            Some(c) => tell("client", c.health().err().map(|e| e.to_string())),
            None if !asked.is_empty() => tell("client", Some("client not enabled".into())),
            None => {}
        }
    }
    if wanted("server") {
        match app.server() {
            Some(s) => {
                let why = || s.consensus().stopped().unwrap_or_else(|| "no leader".into());
                tell("server", s.leader_address().is_none().then(why));
            }
            None if !asked.is_empty() => tell("server", Some("server not enabled".into())),
            None => {}
        }
    }
    let body = Value::Object(parts);
    if well { Response::json(&body) } else { Err(Error::internal(body.to_string())) }
}

fn local_server(request: &Request) -> Result<&Server, Error> {
    request.app().server().ok_or_else(|| Error::bad("Server only endpoint"))
}

pub(crate) async fn schedulers(request: Request) -> Outcome {
    let workers = local_server(&request)?.workers();
    let list: Vec<Value> = workers
        .iter()
        .map(|w| {
            json!({
                "id": w.id,
                "enabled_schedulers": w.schedulers,
                "started": Time::from_unix_nanos(w.started).to_string(),
                "status": w.status(),
                "workload_status": w.workload().word(),
            })
        })
        .collect();
    Response::json(&json!({ "server_id": full_name(request.app()), "schedulers": list }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SchedulerConfig {
    num_schedulers: i64,
    enabled_schedulers: Option<Vec<JobType>>,
}

pub(crate) async fn scheduler_config(request: Request) -> Outcome {
    shown_config(&request, local_server(&request)?)
}

pub(crate) async fn set_scheduler_config(mut request: Request) -> Outcome {
    let server = local_server(&request)?.clone();
    let config: SchedulerConfig = request.json().await.map_err(|e| e.prefixed("Invalid request: "))?;
    let count = usize::try_from(config.num_schedulers).map_err(|_| Error::bad("Invalid request"))?;
    server
        .set_workers(count, config.enabled_schedulers.unwrap_or_default())
        .map_err(|_| Error::bad("Invalid request"))?;
    shown_config(&request, &server)
}

fn shown_config(request: &Request, server: &Server) -> Outcome {
    let settings = server.settings();
    Response::json(&json!({
        "server_id": full_name(request.app()),
        "num_schedulers": settings.num_schedulers,
        "enabled_schedulers": settings.enabled_schedulers,
    }))
}

pub(crate) async fn reload(request: Request) -> Outcome {
    request.app().agent().reload().await?;
    Ok(Response::empty())
}

/// How long processor time is measured if nothing else is asked for, and at most, in seconds.
const PROFILE_SECONDS: (u64, u64) = (1, 300);

/// Profiles of this agent. Those that only Go's runtime records are refused.
pub(crate) async fn pprof(request: Request) -> Outcome {
    let kind = match request.rest() {
        "" => return Err(Error::not_found("Invalid method")),
        _ if !request.app().settings().debug => return Err(Error::denied()),
        "cmdline" => ProfileKind::CommandLine,
        "profile" => ProfileKind::Processor,
        "goroutine" | "threadcreate" => ProfileKind::Threads,
        "heap" => ProfileKind::Memory,
        name @ ("trace" | "allocs" | "block" | "mutex") => {
            return Err(Error::new(501, format!("this program has no profile {name}")));
        }
        name => return Err(Error::not_found(format!("Unknown profile: {name}"))),
    };
    monitor::here(&request)?;
    let number = |name: &str, default: u64| match request.query().get(name) {
        "" => Ok(default),
        text => decimal_uint(text).map_err(|e| Error::bad(format!("parameter {name} is no number: {e}"))),
    };
    let seconds = number("seconds", PROFILE_SECONDS.0)?;
    if seconds > PROFILE_SECONDS.1 {
        return Err(Error::bad(format!("parameter seconds must not be more than {}", PROFILE_SECONDS.1)));
    }
    let text = number("debug", 0)? > 0;
    let profile = request.app().agent().profile(kind, Duration::from_secs(seconds), text).await?;
    Ok(Response::bytes(profile.content_type, profile.bytes)
        .header(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
        .header(header::CONTENT_DISPOSITION, &format!("attachment; filename=\"{}\"", request.rest())))
}

pub(crate) async fn metrics(request: Request) -> Outcome {
    let metrics = request.app().metrics();
    if request.query().get("format") != "prometheus" {
        return Response::json(&metrics.summary());
    }
    // A scrape returns current figures, not those of a second ago.
    if let Some(leader) = request.app().server().filter(|s| s.consensus().leads()) {
        encamp_server::leadership::metrics::refresh(leader).await;
    }
    match metrics.prometheus() {
        Some(text) => Ok(Response::bytes(encamp_telemetry::PROMETHEUS_CONTENT_TYPE, text)),
        None => Err(Error::new(415, "Prometheus is not enabled")),
    }
}
