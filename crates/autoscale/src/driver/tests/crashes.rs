//! The autoscaler stops before and after every write and every side effect, once and twice, and the next one resumes:
//! in the end everything is as if nothing had happened.

use std::sync::Arc;
use std::time::Duration;

use encamp_model::{NodeEligibility, NodeStatus};

use super::autoscaler;
use crate::cooldown::Cooldowns;
use crate::params::{PoolParameters, ProviderKind};
use crate::record::Record;
use crate::test_cluster::parameters;
use crate::testing::faults::Faults;
use crate::testing::{Crash, Effect, Machine, World, timeless};

/// The final state.
#[derive(Debug, PartialEq)]
struct Ending {
    record: Record,
    desired: i64,
    instances: Vec<String>,
    /// ID, status, eligibility.
    nodes: Vec<(String, NodeStatus, NodeEligibility)>,
    running: usize,
    held: Vec<Effect>,
    begun: usize,
}

/// Runs until the operation is over and a minute has passed, through crashes. Also gives the points there were.
async fn play(machine: Machine, crashes: &[Crash]) -> (Ending, usize) {
    let world = World::new(machine);
    let mut crashes = crashes.iter().copied();
    for _ in 0..100 {
        world.machine().set_crash(crashes.next());
        let autoscaler = autoscaler(&world);
        tokio::select! {
            () = autoscaler.run() => panic!("it gave up"),
            () = world.crash() => {}
            () = over(&world) => return (ending(&world), world.machine().points),
        }
    }
    panic!("it never ends");
}

async fn over(world: &Arc<World>) {
    let begin = tokio::time::Instant::now();
    while world.machine().ended == 0 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(begin.elapsed() < Duration::from_secs(4 * 3600), "never over: {:?}", world.record());
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
}

fn ending(world: &World) -> Ending {
    let record = timeless(&world.record());
    let machine = world.machine();
    assert_eq!(machine.violations, Vec::<String>::new());
    let nodes = machine.state.nodes().map(|e| &e.node);
    let mut held = machine.held.clone();
    held.sort_by_key(|e| format!("{e:?}"));
    Ending {
        record,
        desired: machine.group.desired,
        instances: machine.group.instances.iter().map(|i| i.id.clone()).collect(),
        nodes: nodes.map(|n| (n.id.clone(), n.status.clone(), n.scheduling_eligibility.clone())).collect(),
        running: machine.state.allocs().filter(|e| !e.phase.terminal()).count(),
        held,
        begun: machine.begun,
    }
}

/// Two consecutive requests, one operation.
fn pool() -> PoolParameters {
    let cooldown = Cooldowns::one(Duration::from_secs(24 * 3600));
    PoolParameters { scaling_threshold: 2, cooldown, provider: ProviderKind::Local, ..parameters() }
}

/// Stops at every point and at every pair of points.
async fn stop_everywhere(name: &str, machine: Machine) -> Ending {
    let make = || machine.clone();
    let (want, points) = play(make(), &[]).await;
    let all = || (0..points).flat_map(|n| [(n, false), (n, true)]);
    let mut pairs = 0;
    for first in all() {
        let (once, _) = play(make(), &[first]).await;
        assert_eq!(once, want, "{name}: stopped at {first:?}");
        for second in all() {
            let (twice, _) = play(make(), &[first, second]).await;
            assert_eq!(twice, want, "{name}: stopped at {first:?}, then at {second:?}");
            pairs += 1;
        }
    }
    println!("{name}: {points} points, {} crashes, {pairs} pairs of crashes", 2 * points);
    want
}

#[tokio::test(start_paused = true)]
async fn a_scale_out_survives_crashes_everywhere() {
    let end = stop_everywhere("scale-out", Machine::new(3, 8, pool(), Faults::none(1))).await;
    assert_eq!((end.desired, end.nodes.len(), end.record.failure_count), (4, 4, 0));
    assert!(end.record.last_scaling_event.is_some());
    assert_eq!((end.held, end.begun), (vec![Effect::SetDesired(4)], 1));
}

#[tokio::test(start_paused = true)]
async fn a_scale_in_survives_crashes_everywhere() {
    let end = stop_everywhere("scale-in", Machine::new(4, 1, pool(), Faults::none(1))).await;
    assert_eq!((end.desired, end.nodes.len(), end.running), (3, 3, 4));
    assert!(end.record.last_scaling_event.is_some());
    assert_eq!(end.held.len(), 3, "drained, terminated, purged: {:?}", end.held);
}

#[tokio::test(start_paused = true)]
async fn a_replacement_survives_crashes_everywhere() {
    let mut machine = Machine::new(3, 8, pool(), Faults::none(1));
    machine.stillborn = 1;
    let end = stop_everywhere("replacement", machine).await;
    assert_eq!((end.desired, end.nodes.len(), end.record.failure_count), (4, 4, 0));
    assert_eq!(end.held.len(), 2, "{:?}", end.held);
}

#[tokio::test(start_paused = true)]
async fn a_detachment_survives_crashes_everywhere() {
    let mut machine = Machine::new(3, 8, PoolParameters { retry_threshold: 1, ..pool() }, Faults::none(1));
    machine.stillborn = 1;
    let end = stop_everywhere("detachment", machine).await;
    assert_eq!((end.desired, end.nodes.len(), end.record.failure_count), (3, 3, 1));
    assert!(end.record.failsafe_mode && end.record.last_scaling_event.is_none());
    assert_eq!(end.held.len(), 2, "{:?}", end.held);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_drain_survives_crashes_everywhere() {
    let mut machine = Machine::new(4, 1, PoolParameters { retry_threshold: 1, ..pool() }, Faults::none(1));
    machine.drains_hang = true;
    let end = stop_everywhere("cancelled drain", machine).await;
    assert_eq!((end.desired, end.nodes.len(), end.running), (4, 4, 4));
    assert!(
        end.nodes
            .iter()
            .all(|(_, status, eligibility)| *status == NodeStatus::Ready && *eligibility == NodeEligibility::Eligible)
    );
    assert!(end.record.failsafe_mode && end.record.last_scaling_event.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_taken_back_survives_crashes_everywhere() {
    let mut machine = Machine::new(4, 1, pool(), Faults::none(1));
    machine.surge = Some(24);
    let end = stop_everywhere("taken back", machine).await;
    assert_eq!((end.desired, end.nodes.len(), end.running, end.begun), (4, 4, 24, 1));
    assert!(
        end.nodes
            .iter()
            .all(|(_, status, eligibility)| *status == NodeStatus::Ready && *eligibility == NodeEligibility::Eligible)
    );
    assert!(end.record.last_scalein_event.is_some() && end.record.last_scaleout_event.is_none());
    let node = "n-0001".to_string();
    assert_eq!(end.held, [Effect::CancelDrain(node.clone()), Effect::Drain(node)], "nothing is bought or terminated");
}
