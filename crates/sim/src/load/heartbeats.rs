//! Heartbeats only: no node may be marked down while its heartbeats arrive in time.

use std::time::{Duration, Instant};

use super::LoadError;
use super::outcome::Outcome;
use super::stage::{Options, Stage};
use super::tally::Tally;

/// How often the progress of the scenario is printed.
const TELL: Duration = Duration::from_millis(500);

/// The scenario.
#[derive(Debug, Clone)]
pub struct Heartbeats {
    /// The options of all scenarios.
    pub common: Options,
    /// How long the nodes live once all are ready.
    pub time: Duration,
}

/// Runs the scenario; `tell` gets a line about how far it is, often.
///
/// # Errors
/// Servers don't start or don't answer, or a node is given up and not taken back.
pub async fn run(scenario: &Heartbeats, tell: &dyn Fn(String)) -> Result<Outcome, LoadError> {
    let nodes = scenario.common.nodes;
    let mut stage = Stage::open(&scenario.common, 0, true, String::new(), tell).await?;
    let mark = stage.mark().await?;
    stage.fleet.start_all();
    stage.ready(nodes).await?;
    let join = stage.settle("join", &mark).await?;

    let mark = stage.mark().await?;
    let (begin, before) = (Instant::now(), Tally::get(&stage.fleet.tally().beats));
    while let Some(left) = scenario.time.checked_sub(begin.elapsed()).filter(|left| !left.is_zero()) {
        let beats = Tally::get(&stage.fleet.tally().beats) - before;
        stage.tell(format!("{beats} heartbeats of {nodes} nodes, {} s to go", left.as_secs()));
        tokio::time::sleep(left.min(TELL)).await;
    }
    let beat = stage.settle("beat", &mark).await?;
    stage.ready(nodes).await?;
    Ok(stage.outcome("heartbeats", vec![join, beat]))
}
