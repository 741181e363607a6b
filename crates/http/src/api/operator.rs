//! Configurations, members, maintenance (`docs/spec/http-api.md §5.15`).

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Error;
use crate::request::Request;
use crate::request::params::decimal_uint;
use crate::request::response::{Outcome, Response};
use encamp_model::duration::parse_duration;
use encamp_model::responses::JobListStub;
use encamp_model::*;
use encamp_raft::{Member, ServerId};
use encamp_server::endpoints::{operator, system};
use encamp_server::leadership::peers::{self, MemberHealth};
use encamp_server::storage::watch::WatchKey;
use encamp_state::Table;

fn cas(request: &Request) -> Result<Option<u64>, Error> {
    match request.query().get("cas") {
        "" => Ok(None),
        text => decimal_uint(text).map(Some).map_err(|e| Error::bad(format!("Error parsing cas value: {e}"))),
    }
}

pub(crate) async fn set_scheduler(mut request: Request) -> Outcome {
    let parse = request.json::<SchedulerConfiguration>().await;
    let config = parse.map_err(|e| e.prefixed("Error parsing scheduler config: "))?;
    let cas = cas(&request)?;
    let (updated, index) = operator::set_scheduler_config(request.server()?, config, cas).await?;
    Ok(Response::json(&json!({ "Updated": updated, "Index": index }))?.index(index))
}

pub(crate) async fn scheduler(request: Request) -> Outcome {
    let options = request.read_options()?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::SchedulerConfig)], |store| {
        let config = store.state().scheduler_config.clone();
        Ok((config.as_ref().map_or(store.index_of(Table::SchedulerConfig), |c| c.modify_index), config))
    });
    let (config, meta) = read.await?;
    let body = json!({
        "SchedulerConfig": config.as_deref(), "Index": meta.index, "LastContact": meta.last_contact,
        "KnownLeader": meta.known_leader, "NextToken": "",
    });
    Ok(Response::json(&body)?.meta(&meta))
}

/// A method or a name that these paths do not have.
pub(crate) async fn nothing(_: Request) -> Outcome {
    Err(Error::not_found("Invalid method"))
}

/// A method that the configuration of Raft does not have.
pub(crate) async fn no_raft_method(_: Request) -> Outcome {
    Ok(Response::empty().status(405))
}

pub(crate) async fn raft_configuration(request: Request) -> Outcome {
    let options = request.read_options()?;
    let server = request.server()?;
    if !options.stale {
        server.wait_ready().await?;
    }
    let configuration = server.consensus().configuration();
    let servers: Vec<Value> = configuration
        .servers
        .iter()
        .map(|m| {
            json!({
                "ID": m.id.to_string(), "Node": m.peer.name, "Address": m.peer.address, "Leader": m.leader,
                "Voter": m.voter, "RaftProtocol": "3",
            })
        })
        .collect();
    Response::json(&json!({ "Servers": servers, "Index": configuration.index }))
}

pub(crate) async fn raft_peer(request: Request) -> Outcome {
    request.check_region()?;
    let (has_id, has_address) = (request.query().has("id"), request.query().has("address"));
    if has_address && !has_id {
        let text = "Removing a peer by address is not supported in the current raft protocol version";
        return Err(Error::bad(text));
    }
    if !has_id {
        return Err(Error::bad("Must specify the peer's ID to remove"));
    }
    request.authorize()?;
    operator::remove_peer(request.server()?, request.query().get("id")).await?;
    Ok(Response::empty())
}

pub(crate) async fn raft_transfer(request: Request) -> Outcome {
    let query = request.query();
    if query.all("id").count() > 1 {
        return Err(Error::bad("must specify only one id"));
    }
    if query.all("address").count() > 1 {
        return Err(Error::bad("must specify only one address"));
    }
    let id = query.has("id").then(|| query.get("id"));
    let address = query.has("address").then(|| query.get("address"));
    let done = operator::transfer_leadership(request.server()?, id, address).await?;
    let named = |m: &Member| json!({ "ID": m.id.to_string(), "Address": m.peer.address });
    let noop = done.from.id == done.to.id;
    Response::json(&json!({ "From": named(&done.from), "To": named(&done.to), "Noop": noop, "Err": null }))
}

/// The configuration as a caller writes it: durations are texts.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct AutopilotBody {
    cleanup_dead_servers: Option<bool>,
    last_contact_threshold: Option<String>,
    max_trailing_logs: Option<u64>,
    min_quorum: Option<u64>,
    server_stabilization_time: Option<String>,
    enable_redundancy_zones: Option<bool>,
    disable_upgrade_migration: Option<bool>,
    enable_custom_upgrades: Option<bool>,
}

pub(crate) async fn autopilot(request: Request) -> Outcome {
    let options = request.read_options()?;
    let server = request.server()?;
    if !options.stale {
        server.wait_ready().await?;
    }
    let snapshot = server.snapshot();
    let config = snapshot.autopilot().cloned().unwrap_or_default();
    let text = |nanos| format_duration(nanos);
    Response::json(&json!({
        "CleanupDeadServers": config.cleanup_dead_servers,
        "LastContactThreshold": text(config.last_contact_threshold),
        "MaxTrailingLogs": config.max_trailing_logs,
        "MinQuorum": config.min_quorum,
        "ServerStabilizationTime": text(config.server_stabilization_time),
        "EnableRedundancyZones": config.enable_redundancy_zones,
        "DisableUpgradeMigration": config.disable_upgrade_migration,
        "EnableCustomUpgrades": config.enable_custom_upgrades,
        "CreateIndex": config.create_index,
        "ModifyIndex": config.modify_index,
    }))
}

pub(crate) async fn set_autopilot(mut request: Request) -> Outcome {
    let wrong = |e: Error| e.prefixed("Error parsing autopilot config: ");
    let body = request.json::<AutopilotBody>().await.map_err(wrong)?;
    let duration = |text: Option<String>| match text.as_deref() {
        None | Some("") => Ok(0),
        Some(text) => parse_duration(text).map_err(|e| wrong(Error::bad(e))),
    };
    let config = AutopilotConfiguration {
        cleanup_dead_servers: body.cleanup_dead_servers.unwrap_or_default(),
        last_contact_threshold: duration(body.last_contact_threshold)?,
        max_trailing_logs: body.max_trailing_logs.unwrap_or_default(),
        min_quorum: body.min_quorum.unwrap_or_default(),
        server_stabilization_time: duration(body.server_stabilization_time)?,
        enable_redundancy_zones: body.enable_redundancy_zones.unwrap_or_default(),
        disable_upgrade_migration: body.disable_upgrade_migration.unwrap_or_default(),
        enable_custom_upgrades: body.enable_custom_upgrades.unwrap_or_default(),
        ..Default::default()
    };
    let cas = cas(&request)?;
    Response::json(&operator::set_autopilot(request.server()?, config, cas).await?)
}

/// How the servers do: members of the log that are alive and hold the newest entries are healthy.
pub(crate) async fn autopilot_health(request: Request) -> Outcome {
    let server = request.server()?;
    server.wait_ready().await?;
    let stats = server.consensus().stats();
    let members = server.consensus().configuration().servers;
    let voters: Vec<String> = members.iter().filter(|m| m.voter).map(|m| m.id.to_string()).collect();
    let leader = members.iter().find(|m| m.leader).map(|m| m.id.to_string()).unwrap_or_default();
    let since = request.app().started();
    let known = request.app().membership().map(|m| m.members());
    let trailing = server.snapshot().autopilot().cloned().unwrap_or_default().max_trailing_logs;
    let health = peers::health(&members, known.as_deref(), |id| server.consensus().behind(id), trailing);
    let own = server.settings().id.clone();
    let level = |id: ServerId| match &known {
        Some(known) => known.iter().find(|k| k.id == id).and_then(|k| k.level),
        None => (id.to_string() == own).then(encamp_host::capability::own),
    };
    let shown = |h: &MemberHealth| {
        let m = &h.member;
        json!({
            "CapabilityLevel": level(m.id),
            "ID": m.id.to_string(), "Name": m.peer.name, "Address": m.peer.address, "SerfStatus": h.status.word(),
            "Version": request.app().settings().version, "Leader": m.leader, "LastContact": "0s",
            "LastTerm": stats.last_log_term, "LastIndex": stats.last_log_index.saturating_sub(h.behind.unwrap_or(0)),
            "Healthy": h.healthy, "Voter": m.voter, "StableSince": Time::from_unix_nanos(since).to_string(),
        })
    };
    let servers: Vec<Value> = health.members.iter().map(shown).collect();
    let body = json!({
        "Healthy": health.healthy, "FailureTolerance": health.failure_tolerance, "Servers": servers,
        "Leader": leader, "Voters": voters, "CapabilityLevel": server.snapshot().capability_level(),
    });
    Ok(Response::json(&body)?.status(if health.healthy { 200 } else { 429 }))
}

/// A check that does not exist.
pub(crate) async fn no_upgrade_check(request: Request) -> Outcome {
    Err(Error::not_found(format!("Path {} not found", request.path())))
}

pub(crate) async fn upgrade_check(request: Request) -> Outcome {
    let options = request.read_options()?;
    let keys = vec![WatchKey::Table(Table::Jobs), WatchKey::Table(Table::Nodes)];
    let read = request.blocking(&options, keys, |store| {
        let jobs: Vec<_> = store.state().jobs().map(|j| j.current.clone()).filter(|j| lacks_identity(j)).collect();
        let summary = |j: &Job| store.summary(&j.namespace, &j.id).cloned();
        let stubs: Vec<JobListStub> = jobs.iter().map(|j| j.stub(summary(j), false)).collect();
        Ok((store.index_of(Table::Jobs).max(store.index_of(Table::Nodes)), stubs))
    });
    let (jobs, meta) = read.await?;
    #[derive(serde::Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Body {
        jobs_without_vault_identity: Vec<JobListStub>,
        outdated_nodes: [(); 0],
        vault_tokens: Option<()>,
        index: u64,
        last_contact: u64,
        known_leader: bool,
        next_token: &'static str,
    }
    let body = Body {
        jobs_without_vault_identity: jobs,
        outdated_nodes: [],
        vault_tokens: None,
        index: meta.index,
        last_contact: meta.last_contact,
        known_leader: meta.known_leader,
        next_token: "",
    };
    Ok(Response::json(&body)?.meta(&meta))
}

/// Tasks that ask for Vault without an identity for it.
fn lacks_identity(job: &Job) -> bool {
    let tasks = job.task_groups.iter().flat_map(|g| &g.tasks);
    tasks.filter(|t| t.vault.is_some()).any(|t| !t.identities.iter().any(|i| i.name.starts_with("vault_")))
}

pub(crate) async fn reconcile(request: Request) -> Outcome {
    system::reconcile_summaries(request.server()?).await?;
    Ok(Response::empty())
}
