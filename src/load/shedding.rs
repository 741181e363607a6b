//! The worst day of a cluster: thousands of nodes come at once while nothing is scheduled, and later all of them go. Each node
//! makes an evaluation for every system job; all but two of a job are superfluous (`spec/server.md §5.4`).

use std::path::PathBuf;

use serde_json::json;

use super::LoadError;
use super::fleet::{Connect, Fleet, FleetOptions};
use super::mark::{Mark, PATIENCE, schedulers, settle};
use super::outcome::{Outcome, machine};
use super::probe;
use super::process::{self, ServerOptions, ServerProcess};
use super::tally::Tally;
use crate::client::clock;
use crate::model::SECOND;

/// How long servers wait for a heartbeat that is due.
const GRACE: i64 = 10;

/// The scenario.
#[derive(Debug, Clone)]
pub struct Shedding {
    /// Simulated nodes.
    pub nodes: usize,
    /// System jobs.
    pub system_jobs: usize,
    /// Servers.
    pub servers: usize,
    /// Whether superfluous evaluations are called off.
    pub shedding: bool,
    /// What IDs and waits depend on.
    pub seed: u64,
    /// Where servers keep their data.
    pub folder: PathBuf,
}

/// Runs the scenario; `tell` gets a line about how far it is, often.
///
/// # Errors
/// Servers don't start, don't answer, or take an hour for a step.
pub async fn run(
    scenario: &Shedding,
    connect: impl Fn(Vec<String>) -> Connect,
    tell: impl Fn(String),
) -> Result<Outcome, LoadError> {
    tell(format!("starting {} server(s)", scenario.servers));
    let servers = process::start(&ServerOptions {
        servers: scenario.servers,
        folder: scenario.folder.clone(),
        shedding: scenario.shedding,
        more: format!("server {{\n  heartbeat_grace = \"{GRACE}s\"\n}}\n"),
    })
    .await?;
    let Some(first) = servers.first() else { return Err(LoadError("there must be a server".into())) };
    let client = first.client();
    schedulers(&servers, 0).await?;
    for number in 0..scenario.system_jobs {
        let job = system_job(number);
        let stored: Result<(serde_json::Value, _), _> = client.put("/v1/jobs", &Default::default(), &job).await;
        stored.map_err(|e| LoadError::of("registering a job", e))?;
    }
    let options = FleetOptions { nodes: scenario.nodes, seed: scenario.seed, alike: true, quick: false };
    let addresses = servers.iter().map(ServerProcess::rpc_address).collect();
    let mut fleet = Fleet::new(&options, clock::now(), connect(addresses));
    fleet.start_all();
    // One of the registration of each job, one of each node that became ready.
    let all = (scenario.nodes as u64 + 1) * scenario.system_jobs as u64;
    let look = || probe::pending(client);
    probe::until("the evaluations of all nodes", PATIENCE, look, |n| {
        tell(format!(
            "{} of {} nodes live, {n} of {all} evaluations pend",
            Tally::get(&fleet.tally().live),
            fleet.len()
        ));
        *n >= all
    })
    .await?;

    let mark = Mark::now(client).await?;
    schedulers(&servers, machine().cpus).await?;
    let enable = settle(client, "enable", &mark, &tell).await?;
    let allocations = scenario.nodes as u64 * scenario.system_jobs as u64;
    probe::until(
        "all allocations",
        PATIENCE,
        || async { Ok(Tally::get(&fleet.tally().running)) },
        |n| {
            tell(format!("{n} of {allocations} allocations run"));
            *n >= allocations
        },
    )
    .await?;

    let mark = Mark::now(client).await?;
    let false_expiries = Tally::get(&fleet.tally().expired);
    fleet.kill_all();
    let last = fleet.tally().last_ttl() + GRACE * SECOND;
    let look = || async {
        let gauges = probe::gauges(client).await?;
        Ok(gauges.get("nomad.heartbeat.active").copied().unwrap_or(0.0))
    };
    probe::until("the end of all heartbeats", PATIENCE, look, |n| {
        tell(format!("{n} nodes are awaited, for {} s at most", (last - clock::now()).max(0) / SECOND));
        *n == 0.0
    })
    .await?;
    let mut stop = settle(client, "stop", &mark, &tell).await?;
    stop.seconds = (clock::now() - last).max(0) as f64 / SECOND as f64;

    Ok(Outcome {
        scenario: "load-shedding",
        version: env!("CARGO_PKG_VERSION").into(),
        seed: scenario.seed,
        machine: machine(),
        nodes: scenario.nodes,
        servers: scenario.servers,
        shedding: scenario.shedding,
        steps: vec![enable, stop],
        timings: Vec::new(),
        allocations,
        allocations_per_second: 0.0,
        false_expiries,
        peak_rss_mb: servers.iter().map(ServerProcess::peak_rss).max().unwrap_or(0) >> 20,
        server_cpu_seconds: servers.iter().map(ServerProcess::cpu_seconds).sum(),
    })
}

/// A small job for every node.
fn system_job(number: usize) -> serde_json::Value {
    let resources = json!({"CPU": 20, "MemoryMB": 16});
    let logs = json!({"MaxFiles": 1, "MaxFileSizeMB": 1});
    let task = json!({"Name": "main", "Driver": "raw_exec", "Config": {"command": "/bin/true"}, "Resources": resources, "LogConfig": logs});
    let group = json!({"Name": "all", "Tasks": [task], "EphemeralDisk": {"SizeMB": 10}});
    let id = format!("system-{number}");
    json!({"Job": {"ID": id, "Name": id, "Type": "system", "Datacenters": ["*"], "TaskGroups": [group]}})
}
