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

    // The loss of a node without allocations changes nothing.
    let (used, unused): (Vec<usize>, Vec<usize>) = (0..nodes).partition(|n| stage.fleet.is_used(*n));
    let count = nodes * scenario.percent / 100;
    let of_used = count.min(used.len());
    let stopped: Vec<usize> = spread(&used, of_used).chain(spread(&unused, count - of_used)).collect();
    let mark = stage.mark().await?;
    stopped.iter().for_each(|n| stage.fleet.kill(*n));
    stage.down(stopped.len()).await?;
    stage.idle().await?;
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

/// So many of these numbers, at equal distances.
fn spread(from: &[usize], count: usize) -> impl Iterator<Item = usize> {
    (0..count).filter_map(move |n| from.get(n * from.len() / count).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_taken_at_equal_distances() {
        let taken = |from: std::ops::Range<usize>, count| spread(&from.collect::<Vec<_>>(), count).collect::<Vec<_>>();
        assert_eq!(taken(0..20, 2), [0, 10]);
        assert_eq!(taken(5..10, 3), [5, 6, 8]);
        assert_eq!(taken(5..8, 3), [5, 6, 7]);
        assert_eq!((taken(0..3, 0), taken(0..0, 0)), (vec![], vec![]));
    }
}
