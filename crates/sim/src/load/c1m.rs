//! A million allocations: measures how fast jobs are placed and committed when thousands of nodes have capacity for all
//! of them.

use serde_json::{Value, json};

use super::outcome::Outcome;
use super::stage::{Options, Stage};
use super::timings::Timings;
use super::{LoadError, probe, restart};
use encamp_model::JobType;

/// The largest count of a job.
const MOST_OF_A_JOB: usize = 1000;

/// The scenario.
#[derive(Debug, Clone)]
pub struct C1m {
    /// The options of all scenarios.
    pub common: Options,
    /// Allocations to place.
    pub allocs: usize,
}

/// Runs the scenario; `tell` gets a line about how far it is, often.
///
/// # Errors
/// Servers don't start, don't answer, or take an hour for a step; or not all allocations found room.
pub async fn run(scenario: &C1m, tell: &dyn Fn(String)) -> Result<Outcome, LoadError> {
    let nodes = scenario.common.nodes;
    let mut stage = Stage::open(&scenario.common, 0, true, String::new(), tell).await?;
    stage.fleet.start_all();
    stage.ready(nodes).await?;
    stage.schedulers(0).await?;
    let jobs = register(&stage, scenario).await?;

    let mark = stage.mark().await?;
    let mut timings = Timings::default();
    stage.all_schedulers().await?;
    let work = async {
        let place = stage.settle("place", &mark).await?;
        let blocked = probe::evaluations(stage.client()).await?.blocked;
        if blocked > 0 {
            return Err(LoadError(format!("{blocked} of {jobs} jobs could not be placed")));
        }
        stage.running(scenario.allocs as u64).await?;
        let run = stage.settle("run", &mark).await?;
        stage.saved().await?;
        Ok((place, run))
    };
    let (place, run) = tokio::select! {
        done = work => done?,
        () = timings.watch(stage.client()) => return Err(LoadError("the metrics are not read any more".into())),
    };
    timings.read(stage.client()).await?;
    let mut timings = timings.finish();
    let mut measured = None;
    // Where there are more, another one leads after a restart.
    if scenario.common.servers == 1 {
        let (restart, writes) = restart::measure(&mut stage).await?;
        timings.extend(writes);
        measured = Some(restart);
    }
    let allocations = scenario.allocs as u64;
    Ok(Outcome {
        allocations_per_second: allocations as f64 / place.seconds.max(f64::MIN_POSITIVE),
        timings,
        allocations,
        restart: measured,
        ..stage.outcome("c1m", vec![place, run])
    })
}

/// Registers the jobs of the scenario; returns how many there are.
pub(crate) async fn register(stage: &Stage<'_>, scenario: &C1m) -> Result<usize, LoadError> {
    let counts = sizes(scenario.allocs);
    let share = scenario.allocs.div_ceil(scenario.common.nodes.max(1));
    for (number, count) in counts.iter().enumerate() {
        stage.register(&job(number, *count, share)).await?;
        stage.tell(format!("{} of {} jobs are registered", number + 1, counts.len()));
    }
    Ok(counts.len())
}

/// The ID of a job.
pub(crate) fn id(number: usize) -> String {
    format!("batch-{number}")
}

/// The counts of the jobs that make so many allocations.
pub fn sizes(mut allocs: usize) -> Vec<usize> {
    let mut out = Vec::new();
    while allocs > 0 {
        let count = allocs.min(MOST_OF_A_JOB);
        out.push(count);
        allocs -= count;
    }
    out
}

/// A job of small allocations. Nodes hold `share` of them each, so that those are as small as that needs.
fn job(number: usize, count: usize, share: usize) -> Value {
    let fit = |all: usize, least: usize, most: usize| (all / 2 / share.max(1)).clamp(least, most);
    let resources = json!({"CPU": fit(20_000, 1, 50), "MemoryMB": fit(32_000, 10, 64)});
    batch_job(&id(number), count, &resources, fit(190_000, 10, 100))
}

/// A batch job whose allocations have these resources each, and a disk of `disk` MB.
pub(crate) fn batch_job(id: &str, count: usize, resources: &Value, disk: usize) -> Value {
    let logs = json!({"MaxFiles": 1, "MaxFileSizeMB": 1});
    let task = json!({"Name": "main", "Driver": "raw_exec", "Config": {"command": "/bin/true"}, "Resources": resources, "LogConfig": logs});
    let group = json!({"Name": "all", "Count": count, "Tasks": [task], "EphemeralDisk": {"SizeMB": disk}});
    json!({"Job": {"ID": id, "Name": id, "Type": JobType::Batch, "Datacenters": ["*"], "TaskGroups": [group]}})
}
