//! A node storm: thousands of nodes register at once while scheduling is paused, and later all of them go down. Each
//! node creates an evaluation for every system job; all but two of a job are redundant (`docs/spec/server.md §5.4`).

use serde_json::{Value, json};

use super::LoadError;
use super::outcome::Outcome;
use super::probe::{self, Evaluations};
use super::stage::{Options, PATIENCE, Stage};
use super::tally::Tally;
use encamp_client::clock;
use encamp_model::{JobType, SECOND};

/// How long servers wait for a heartbeat that is due.
const GRACE: i64 = 10;

/// The scenario.
#[derive(Debug, Clone)]
pub struct Shedding {
    /// The options of all scenarios.
    pub common: Options,
    /// System jobs.
    pub system_jobs: usize,
    /// Whether redundant evaluations are cancelled.
    pub shedding: bool,
    /// Whether the nodes fail afterwards: the end of their last TTL is awaited, which is the later the more nodes there
    /// are.
    pub stop: bool,
}

/// Runs the scenario; `tell` gets a line about how far it is, often.
///
/// # Errors
/// Servers don't start, don't answer, or take an hour for a step.
pub async fn run(scenario: &Shedding, tell: &dyn Fn(String)) -> Result<Outcome, LoadError> {
    let grace = format!("server {{\n  heartbeat_grace = \"{GRACE}s\"\n}}\n");
    let mut stage = Stage::open(&scenario.common, 0, scenario.shedding, grace, tell).await?;
    stage.schedulers(0).await?;
    for number in 0..scenario.system_jobs {
        stage.register(&system_job(number)).await?;
    }
    stage.fleet.start_all();
    // One for the registration of each job, and one for each node that became ready.
    let all = (scenario.common.nodes as u64 + 1) * scenario.system_jobs as u64;
    let look = || async {
        let live = Tally::get(&stage.fleet.tally().live);
        let e =
            if live < scenario.common.nodes as u64 { None } else { Some(probe::evaluations(stage.client()).await?) };
        Ok((live, e))
    };
    let made = |(live, evaluations): &(u64, Option<Evaluations>)| {
        let e = evaluations.unwrap_or_default();
        stage.tell(format!("{live} of {} nodes live, {} of {all} evaluations pend", stage.fleet.len(), e.pending));
        // A worker may have held one when it was stopped.
        e.pending + e.complete + e.canceled >= all
    };
    probe::until("the evaluations of all nodes", PATIENCE, look, made).await?;

    let mark = stage.mark().await?;
    stage.all_schedulers().await?;
    let enable = stage.settle("enable", &mark).await?;
    let allocations = scenario.common.nodes as u64 * scenario.system_jobs as u64;
    if !scenario.stop {
        return Ok(Outcome { allocations, ..stage.outcome("load-shedding", vec![enable]) });
    }
    // Nodes find the allocations healthy only later; that is not part of either step.
    stage.running(allocations).await?;
    stage.rolled_out().await?;

    let mark = stage.mark().await?;
    // Whoever is killed does not come back in time.
    let expired = Tally::get(&stage.fleet.tally().expired);
    stage.fleet.kill_all();
    let last = stage.fleet.tally().last_ttl() + GRACE * SECOND;
    let none = |n: &f64| {
        stage.tell(format!("{n} nodes are awaited, for {} s at most", (last - clock::now()).max(0) / SECOND));
        *n == 0.0
    };
    probe::until("the end of all heartbeats", PATIENCE, || probe::awaited(stage.client()), none).await?;
    // Nodes that are lost together are written together, a little later.
    stage.down(scenario.common.nodes).await?;
    let mut stop = stage.settle("stop", &mark).await?;
    stop.seconds = (clock::now() - last).max(0) as f64 / SECOND as f64;

    Ok(Outcome { allocations, false_expiries: expired, ..stage.outcome("load-shedding", vec![enable, stop]) })
}

/// A small job for every node.
fn system_job(number: usize) -> Value {
    let resources = json!({"CPU": 20, "MemoryMB": 16});
    let logs = json!({"MaxFiles": 1, "MaxFileSizeMB": 1});
    let task = json!({"Name": "main", "Driver": "raw_exec", "Config": {"command": "/bin/true"}, "Resources": resources, "LogConfig": logs});
    let group = json!({"Name": "all", "Tasks": [task], "EphemeralDisk": {"SizeMB": 10}});
    let id = format!("system-{number}");
    json!({"Job": {"ID": id, "Name": id, "Type": JobType::System, "Datacenters": ["*"], "TaskGroups": [group]}})
}
