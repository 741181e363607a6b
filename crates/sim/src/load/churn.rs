//! Constant churn: in every round nodes join, are drained and fail, and a job changes. After each round every job runs
//! its full count again.

use std::collections::BTreeSet;

use super::LoadError;
use super::outcome::Outcome;
use super::probe;
use super::services::Services;
use super::stage::{Options, PATIENCE, Stage};
use encamp_model::random::Random;
use encamp_model::requests::DrainSpec;
use encamp_model::{NodeStatus, SECOND};

/// How long a drain may take.
const DRAIN: i64 = 60 * SECOND;

/// The scenario.
#[derive(Debug, Clone)]
pub struct Churn {
    /// The options of all scenarios.
    pub common: Options,
    /// Service jobs; all nodes together run two allocations each.
    pub jobs: usize,
    /// How often it goes round.
    pub rounds: usize,
}

/// Runs the scenario; `tell` gets a line about how far it is, often.
///
/// # Errors
/// Servers don't start, don't answer, or take an hour for a step.
pub async fn run(scenario: &Churn, tell: &dyn Fn(String)) -> Result<Outcome, LoadError> {
    let nodes = scenario.common.nodes;
    // As many join as leave.
    let some = nodes.div_ceil(100);
    let mut stage = Stage::open(&scenario.common, 2 * some * scenario.rounds, true, String::new(), tell).await?;
    let mut live: Vec<usize> = (0..nodes).collect();
    live.iter().for_each(|n| stage.fleet.start(*n));
    stage.ready(nodes).await?;
    let (services, place) = Services::place(&stage, scenario.jobs, nodes).await?;

    let mut random = Random::new(scenario.common.seed, "churn");
    let mark = stage.mark().await?;
    for round in 0..scenario.rounds {
        stage.tell(format!("round {} of {}", round + 1, scenario.rounds));
        random.shuffle(&mut live);
        let (failing, draining) =
            (live.split_off(live.len().saturating_sub(some)), live.split_off(live.len().saturating_sub(some)));
        failing.iter().for_each(|n| stage.fleet.kill(*n));
        for n in &draining {
            let spec = DrainSpec { deadline: DRAIN, ..Default::default() };
            let begun = stage.client().drain_node(stage.fleet.id(*n), Some(spec), false, &Default::default()).await;
            begun.map_err(|e| LoadError::of("draining a node", e))?;
        }
        let joining = nodes + 2 * some * round..nodes + 2 * some * (round + 1);
        for n in joining {
            stage.fleet.start(n);
            live.push(n);
        }
        services.register(&stage, round % services.len(), round + 1).await?;
        over(&stage, &failing, &live).await?;
        // A machine that was drained is switched off.
        draining.iter().for_each(|n| stage.fleet.kill(*n));
        stage.idle().await?;
        services.whole(&stage).await?;
    }
    let churn = stage.settle("churn", &mark).await?;
    let allocations = services.allocs();
    Ok(Outcome { allocations, ..stage.outcome("churn", vec![place, churn]) })
}

/// Waits until no node is being drained, those that failed are given up, and those that live are ready.
async fn over(stage: &Stage<'_>, failing: &[usize], live: &[usize]) -> Result<(), LoadError> {
    let ids = |of: &[usize]| -> BTreeSet<&str> { of.iter().map(|n| stage.fleet.id(*n)).collect() };
    let (failed, living) = (ids(failing), ids(live));
    let look = || async {
        let nodes = stage.nodes().await?;
        let count = |of: &BTreeSet<&str>, status: NodeStatus| {
            nodes.iter().filter(|n| n.status == status && of.contains(n.id.as_str())).count()
        };
        let drains = nodes.iter().filter(|n| n.drain).count();
        Ok((drains, count(&failed, NodeStatus::Down), count(&living, NodeStatus::Ready)))
    };
    let enough = |(drains, down, ready): &(usize, usize, usize)| {
        let (failing, live) = (failed.len(), living.len());
        stage.tell(format!(
            "{drains} nodes are being drained, {down} of {failing} are down, {ready} of {live} are ready"
        ));
        (*drains, *down, *ready) == (0, failing, live)
    };
    probe::until("the end of a round", PATIENCE, look, enough).await.map(drop)
}
