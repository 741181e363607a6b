//! Forced garbage collection of a large cluster: measures how long it takes, and how much longer evaluations take
//! meanwhile.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::LoadError;
use super::c1m::{self, C1m};
use super::outcome::Outcome;
use super::probe;
use super::stage::{Options, PATIENCE, Stage};
use super::tally::Tally;
use super::timings::timing;
use encamp_api::Client;
use encamp_api::writes::Deregister;
use encamp_model::EvalStatus;
use encamp_model::gc::{GcKind, GcReport};

/// The time between two jobs that are registered to measure evaluations.
const PACE: Duration = Duration::from_millis(50);
/// How often an evaluation is read until it is complete.
const LOOK: Duration = Duration::from_millis(1);
/// How long a server may take for the run.
const RUN: Duration = Duration::from_secs(600);

/// The scenario.
#[derive(Debug, Clone)]
pub struct Collect {
    /// The options of all scenarios.
    pub common: Options,
    /// Allocations to place.
    pub allocs: usize,
    /// The share of them that ends before the collection, in percent.
    pub percent: usize,
    /// How long evaluations are measured before the collection.
    pub idle: Duration,
}

/// Runs the scenario; `tell` gets a line about how far it is, often.
///
/// # Errors
/// Servers don't start, don't answer, or take an hour for a step; the run did not delete what it should.
pub async fn run(scenario: &Collect, tell: &dyn Fn(String)) -> Result<Outcome, LoadError> {
    let nodes = scenario.common.nodes;
    let mut stage = Stage::open(&scenario.common, 0, true, String::new(), tell).await?;
    stage.fleet.start_all();
    stage.ready(nodes).await?;
    let mark = stage.mark().await?;
    let counts = c1m::sizes(scenario.allocs);
    let jobs = C1m { common: scenario.common.clone(), allocs: scenario.allocs };
    c1m::register(&stage, &jobs).await?;
    stage.running(scenario.allocs as u64).await?;
    let place = stage.settle("place", &mark).await?;

    let mark = stage.mark().await?;
    let ending = counts.len() * scenario.percent / 100;
    for number in 0..ending {
        let ended = stage.client().deregister_job(None, &c1m::id(number), Deregister::default()).await;
        ended.map_err(|e| LoadError::of("stopping a job", e))?;
        stage.tell(format!("{} of {ending} jobs are stopped", number + 1));
    }
    let ended: usize = counts.iter().take(ending).sum();
    stopped(&stage, ended as u64).await?;
    let stop = stage.settle("stop", &mark).await?;
    stage.saved().await?;

    let mark = stage.mark().await?;
    let mut numbers = 0..;
    stage.tell("evaluations are measured without a collection".into());
    let until = Instant::now() + scenario.idle;
    let before = latencies(stage.client(), &mut numbers, async { tokio::time::sleep_until(until).await }).await?;
    let idle = stage.settle("idle", &mark).await?;

    let mark = stage.mark().await?;
    stage.tell("garbage is collected".into());
    let mut report = None;
    let collect = async { report = Some(collected(stage.client()).await) };
    let during = latencies(stage.client(), &mut numbers, collect).await?;
    let collect = stage.settle("collect", &mark).await?;
    let report = report.ok_or_else(|| LoadError("the run was not awaited".into()))??;
    let deleted = count(&report, GcKind::Allocation);
    if deleted < ended as u64 {
        return Err(LoadError(format!("{deleted} allocations were deleted of {ended} that had ended")));
    }
    Ok(Outcome {
        allocations: scenario.allocs as u64,
        timings: vec![timing("evaluation, idle", before), timing("evaluation, collecting", during)],
        ..stage.outcome("gc", vec![place, stop, idle, collect])
    })
}

/// Waits until the servers know that the nodes have stopped that many allocations.
async fn stopped(stage: &Stage<'_>, count: u64) -> Result<(), LoadError> {
    let look = || async { Ok(Tally::get(&stage.fleet.tally().stopped)) };
    let enough = |n: &u64| {
        stage.tell(format!("{n} of {count} allocations have ended"));
        *n >= count
    };
    probe::until("allocations to end", PATIENCE, look, enough).await.map(drop)
}

/// Deletes all garbage.
async fn collected(client: &Client) -> Result<GcReport, LoadError> {
    let run = client.collect_garbage_and_wait(RUN).await;
    let (report, _) = run.map_err(|e| LoadError::of("collecting garbage", e))?;
    report.ok_or_else(|| LoadError("the server does not report what it deleted".into()))
}

fn count(report: &GcReport, kind: GcKind) -> u64 {
    report.collected.iter().filter(|c| c.kind == kind).map(|c| c.count).sum()
}

/// Registers a small job every [`PACE`] until `end` is over. Returns how long each of them took from the time that it was
/// due until its evaluation was complete. Jobs that are late count from the time that they were due.
async fn latencies(
    client: &Client,
    numbers: &mut impl Iterator<Item = usize>,
    end: impl Future<Output = ()>,
) -> Result<Vec<Duration>, LoadError> {
    let mut taken = Vec::new();
    let mut due = Instant::now();
    let mut end = std::pin::pin!(end);
    for number in numbers {
        tokio::select! {
            biased;
            () = &mut end => break,
            () = tokio::time::sleep_until(due) => {}
        }
        // The collection goes on during the evaluation; once it has begun, an evaluation is awaited.
        let mut over = false;
        let mut evaluated = std::pin::pin!(evaluated(client, number));
        let done = tokio::select! {
            done = &mut evaluated => done,
            () = &mut end => {
                over = true;
                evaluated.await
            }
        };
        done?;
        taken.push(due.elapsed());
        if over {
            break;
        }
        due += PACE;
    }
    Ok(taken)
}

/// Registers a job with one allocation, and waits until its evaluation is complete.
async fn evaluated(client: &Client, number: usize) -> Result<(), LoadError> {
    let stored: Result<(Value, _), _> = client.put("/v1/jobs", &Default::default(), &job(number)).await;
    let (stored, _) = stored.map_err(|e| LoadError::of("registering a job", e))?;
    let id = stored.get("EvalID").and_then(Value::as_str).unwrap_or_default();
    let given_up = Instant::now() + PATIENCE;
    loop {
        let read = client.evaluation_alone(id).await;
        let (eval, _) = read.map_err(|e| LoadError::of("reading an evaluation", e))?;
        match eval.status {
            EvalStatus::Complete => return Ok(()),
            EvalStatus::Pending if Instant::now() < given_up => tokio::time::sleep(LOOK).await,
            status => return Err(LoadError(format!("an evaluation is {status}"))),
        }
    }
}

/// A job of one small allocation.
fn job(number: usize) -> Value {
    c1m::batch_job(&format!("measured-{number}"), 1, &json!({"CPU": 1, "MemoryMB": 10}), 10)
}
