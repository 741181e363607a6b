//! Some of the nodes stop heartbeating, are marked down, and return after their allocations were replaced. In the end
//! every job runs its full count, and nothing runs twice.

use super::LoadError;
use super::outcome::Outcome;
use super::services::Services;
use super::stage::{Options, Stage};

/// The scenario.
#[derive(Debug, Clone)]
pub struct Flap {
    /// The options of all scenarios.
    pub common: Options,
    /// Service jobs; all nodes together run two allocations each.
    pub jobs: usize,
    /// The percentage of nodes that stop heartbeating.
    pub percent: usize,
}

/// Runs the scenario; `tell` gets a line about how far it is, often.
///
/// # Errors
/// Servers don't start, don't answer, or take an hour for a step.
pub async fn run(scenario: &Flap, tell: &dyn Fn(String)) -> Result<Outcome, LoadError> {
    let nodes = scenario.common.nodes;
    let mut stage = Stage::open(&scenario.common, 0, true, String::new(), tell).await?;
    stage.fleet.start_all();
    stage.ready(nodes).await?;
    let (services, place) = Services::place(&stage, scenario.jobs, nodes).await?;

    // Spread over the fleet.
    let stopped: Vec<usize> =
        (0..nodes).filter(|n| n * scenario.percent / 100 != (n + 1) * scenario.percent / 100).collect();
    let mark = stage.mark().await?;
    stopped.iter().for_each(|n| stage.fleet.kill(*n));
    stage.down(stopped.len()).await?;
    services.whole(&stage).await?;
    let lose = stage.settle("lose", &mark).await?;

    let mark = stage.mark().await?;
    stopped.iter().for_each(|n| stage.fleet.start(*n));
    stage.ready(nodes).await?;
    // The returning nodes stop the replaced allocations.
    stage.running(services.allocs()).await?;
    services.whole(&stage).await?;
    let back = stage.settle("return", &mark).await?;
    let allocations = services.allocs();
    Ok(Outcome { allocations, ..stage.outcome("flap", vec![place, lose, back]) })
}
