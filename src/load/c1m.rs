//! A million allocations: how fast jobs are placed and committed when thousands of nodes have room for all of them.

use std::path::PathBuf;

use serde_json::json;

use super::LoadError;
use super::fleet::{Connect, Fleet, FleetOptions};
use super::mark::{Mark, PATIENCE, schedulers, settle};
use super::outcome::{Outcome, machine};
use super::probe;
use super::process::{self, ServerOptions, ServerProcess};
use super::tally::Tally;
use super::timings::Timings;
use crate::client::clock;

/// The largest count of a job.
const MOST_OF_A_JOB: usize = 1000;

/// The scenario.
#[derive(Debug, Clone)]
pub struct C1m {
    /// Simulated nodes.
    pub nodes: usize,
    /// Allocations to place.
    pub allocs: usize,
    /// Servers.
    pub servers: usize,
    /// What IDs and waits depend on.
    pub seed: u64,
    /// Where servers keep their data.
    pub folder: PathBuf,
}

/// Runs the scenario; `tell` gets a line about how far it is, often.
///
/// # Errors
/// Servers don't start, don't answer, or take an hour for a step; or not all allocations found room.
pub async fn run(
    scenario: &C1m,
    connect: impl Fn(Vec<String>) -> Connect,
    tell: impl Fn(String),
) -> Result<Outcome, LoadError> {
    tell(format!("starting {} server(s)", scenario.servers));
    let servers = process::start(&ServerOptions {
        servers: scenario.servers,
        folder: scenario.folder.clone(),
        shedding: true,
        more: "telemetry {\n  prometheus_metrics = true\n}\n".into(),
    })
    .await?;
    let Some(first) = servers.first() else { return Err(LoadError("there must be a server".into())) };
    let client = first.client();
    let options = FleetOptions { nodes: scenario.nodes, seed: scenario.seed, alike: true, quick: false };
    let addresses = servers.iter().map(ServerProcess::rpc_address).collect();
    let mut fleet = Fleet::new(&options, clock::now(), connect(addresses));
    fleet.start_all();
    let ready = || async {
        let (nodes, _) = client.nodes().await.map_err(|e| LoadError::of("listing nodes", e))?;
        Ok(nodes.iter().filter(|n| n.status == "ready").count())
    };
    probe::until("all nodes", PATIENCE, ready, |n| {
        tell(format!("{n} of {} nodes are ready", scenario.nodes));
        *n >= scenario.nodes
    })
    .await?;
    schedulers(&servers, 0).await?;
    let counts = sizes(scenario.allocs);
    let share = scenario.allocs.div_ceil(scenario.nodes.max(1));
    for (number, count) in counts.iter().enumerate() {
        let stored: Result<(serde_json::Value, _), _> =
            client.put("/v1/jobs", &Default::default(), &job(number, *count, share)).await;
        stored.map_err(|e| LoadError::of("registering a job", e))?;
        tell(format!("{} of {} jobs are registered", number + 1, counts.len()));
    }

    let mark = Mark::now(client).await?;
    let mut timings = Timings::default();
    schedulers(&servers, machine().cpus).await?;
    let place = tokio::select! {
        settled = settle(client, "place", &mark, &tell) => settled?,
        () = timings.watch(client) => return Err(LoadError("the metrics are not read any more".into())),
    };
    let blocked = probe::evaluations(client).await?.blocked;
    if blocked > 0 {
        return Err(LoadError(format!("{blocked} of {} jobs found no room", counts.len())));
    }
    let allocations = scenario.allocs as u64;
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
    let run = settle(client, "run", &mark, &tell).await?;
    Ok(Outcome {
        scenario: "c1m",
        version: env!("CARGO_PKG_VERSION").into(),
        seed: scenario.seed,
        machine: machine(),
        nodes: scenario.nodes,
        servers: scenario.servers,
        shedding: true,
        allocations_per_second: allocations as f64 / place.seconds.max(f64::MIN_POSITIVE),
        steps: vec![place, run],
        timings: timings.finish(),
        allocations,
        false_expiries: Tally::get(&fleet.tally().expired),
        peak_rss_mb: servers.iter().map(ServerProcess::peak_rss).max().unwrap_or(0) >> 20,
        server_cpu_seconds: servers.iter().map(ServerProcess::cpu_seconds).sum(),
    })
}

/// The counts of the jobs that make so many allocations.
fn sizes(mut allocs: usize) -> Vec<usize> {
    let mut out = Vec::new();
    while allocs > 0 {
        let count = allocs.min(MOST_OF_A_JOB);
        out.push(count);
        allocs -= count;
    }
    out
}

/// A job of small allocations. Nodes hold `share` of them each, so that those are as small as that needs.
fn job(number: usize, count: usize, share: usize) -> serde_json::Value {
    let fit = |all: usize, least: usize, most: usize| (all / 2 / share.max(1)).clamp(least, most);
    let resources = json!({"CPU": fit(20_000, 1, 50), "MemoryMB": fit(32_000, 10, 64)});
    let logs = json!({"MaxFiles": 1, "MaxFileSizeMB": 1});
    let task = json!({"Name": "main", "Driver": "raw_exec", "Config": {"command": "/bin/true"}, "Resources": resources, "LogConfig": logs});
    let disk = json!({"SizeMB": fit(190_000, 10, 100)});
    let group = json!({"Name": "all", "Count": count, "Tasks": [task], "EphemeralDisk": disk});
    let id = format!("batch-{number}");
    json!({"Job": {"ID": id, "Name": id, "Type": "batch", "Datacenters": ["*"], "TaskGroups": [group]}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_add_up() {
        assert_eq!(sizes(2500), [1000, 1000, 500]);
        assert!(sizes(0).is_empty());
    }
}
