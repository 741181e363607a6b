//! Random pools, loads and faults: whatever fails, hangs or returns false data, a pool keeps to its limits and its
//! allocations can be placed.

use std::sync::Arc;
use std::time::Duration;

use encamp_model::SECOND;
use encamp_test_support::tier;
use proptest::prelude::*;

use super::autoscaler;
use crate::cooldown::Cooldowns;
use crate::params::{PoolParameters, ProviderKind};
use crate::test_cluster::parameters;
use crate::testing::faults::Faults;
use crate::testing::{Machine, World};

/// `ENCAMP_AUTOSCALE_CASES`, which a release run sets to 10000.
fn cases() -> u32 {
    tier::rounds("ENCAMP_AUTOSCALE_CASES", 64, 256)
}

#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    nodes: usize,
    work: usize,
    min: i64,
    more: i64,
    retries: i64,
    requests: i64,
    factor: i64,
    /// Thousandths: reads, effects, lies, halves, conflicts, stillborn.
    faults: [u64; 6],
}

fn case() -> impl Strategy<Value = Case> {
    let rate = || prop_oneof![3 => Just(0u64), 2 => 1..50u64, 1 => 50..400u64];
    let faults = [rate(), rate(), rate(), rate(), rate(), rate()];
    let pool = (1..7usize, 0..9usize, 0..4i64, 0..6i64);
    (any::<u64>(), pool, 1..4i64, 1..3i64, 1..4i64, faults).prop_map(
        |(seed, pool, retries, requests, factor, faults)| {
            let (nodes, work, min, more) = pool;
            Case { seed, nodes, work, min, more, retries, requests, factor, faults }
        },
    )
}

impl Case {
    fn world(&self) -> Arc<World> {
        let parameters = PoolParameters {
            min: self.min,
            max: (self.min + self.more).max(1),
            retry_threshold: self.retries,
            scaling_threshold: self.requests,
            scale_factor: self.factor,
            cooldown: Cooldowns::one(Duration::from_secs(60)),
            provider: ProviderKind::Local,
            ..parameters()
        };
        let [reads, effects, lies, halves, conflicts, stillborn] = self.faults;
        let faults = Faults { reads, effects, lies, halves, conflicts, stillborn, ..Faults::none(self.seed) };
        World::new(Machine::new(self.nodes, self.work, parameters, faults))
    }
}

/// Half an hour of changes by chance, a minute apart.
async fn change_things(world: &World) {
    for _ in 0..30 {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let now = world.now();
        let mut machine = world.machine();
        machine.faults.disk_full = machine.faults.happens(100);
        let nodes: Vec<String> = machine.state.nodes().filter(|e| e.node.ready()).map(|e| e.node.id.clone()).collect();
        match machine.faults.chance() % 6 {
            0 => {
                let most = 9 * nodes.len().max(1) as u64;
                let count = machine.faults.chance() % most;
                machine.set_work(usize::try_from(count).unwrap());
            }
            1 if nodes.len() > 1 => {
                let at = usize::try_from(machine.faults.chance()).unwrap_or_default() % nodes.len();
                machine.lose(&nodes[at], now);
            }
            2 => {
                let hours = i64::try_from(machine.faults.chance() % 5).unwrap() - 2;
                (machine.faults.skew, machine.faults.skewed) = (hours * 3600 * SECOND, true);
            }
            3 => machine.drains_hang = !machine.drains_hang,
            _ => {}
        }
    }
}

/// Nothing goes wrong any more; operations end, within all their limits of time.
async fn calm_down(world: &World) {
    {
        let mut machine = world.machine();
        let seed = machine.faults.seed;
        machine.faults = Faults { skew: machine.faults.skew, skewed: machine.faults.skewed, ..Faults::none(seed) };
        machine.drains_hang = false;
    }
    tokio::time::sleep(Duration::from_secs(3600)).await;
}

async fn play(case: &Case) -> Result<(), TestCaseError> {
    let world = case.world();
    let begun = {
        let autoscaler = autoscaler(&world);
        let enabled = async {
            change_things(&world).await;
            calm_down(&world).await;
            world.machine().begun
        };
        tokio::select! {
            () = autoscaler.run() => return Err(TestCaseError::fail("it gave up")),
            begun = enabled => begun,
        }
    };
    let record = world.record();
    let machine = world.machine();
    prop_assert_eq!(&machine.violations, &Vec::<String>::new());
    prop_assert!(machine.ended <= begun && begun - machine.ended <= 1, "{} of {begun} ended", machine.ended);
    let over = record.failsafe_mode
        || record.operation.as_ref().is_none_or(|o| {
            // One that began a short while ago may go on.
            o.started.unix_nanos().is_some_and(|t| world_now(&world, &machine) - t < 1800 * SECOND)
        });
    prop_assert!(over, "an operation does not end: {:?}", record.operation);
    let notified = world.sent.lock().iter().any(|n| n.reason == crate::notify::Reason::ClusterFailsafeMode);
    prop_assert!(!record.failsafe_mode || notified, "failsafe mode was entered without a notification");
    Ok(())
}

/// The autoscaler's time while the machine is inspected.
fn world_now(world: &World, machine: &Machine) -> i64 {
    world.true_now() + machine.faults.skew
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_goes_wrong_the_rules_hold(case in case()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(&case))?;
    }
}

/// The provider lists an instance that does not exist while a scale-out waits for its node. It is given up like one
/// that never joins.
#[tokio::test(start_paused = true)]
async fn an_instance_that_the_provider_made_up_is_given_up() {
    let faults = [0, 398, 30, 0, 0, 110];
    let seed = 2_545_126_888_842_294_547;
    let case = Case { seed, nodes: 2, work: 3, min: 3, more: 3, retries: 3, requests: 1, factor: 2, faults };
    play(&case).await.unwrap();
}

/// The response to the write that entered failsafe mode was lost: the notification is sent afterwards.
#[tokio::test(start_paused = true)]
async fn failsafe_mode_is_told_of_when_the_answer_to_its_write_was_lost() {
    let faults = [27, 172, 13, 0, 48, 2];
    let seed = 15_218_605_868_850_788_589;
    let case = Case { seed, nodes: 6, work: 0, min: 0, more: 5, retries: 2, requests: 2, factor: 3, faults };
    play(&case).await.unwrap();
}

/// A pool, and the load on it: after so many seconds the service has so many allocations.
#[derive(Debug, Clone)]
struct Demand {
    nodes: usize,
    work: usize,
    min: i64,
    requests: i64,
    cooldown: Cooldowns,
    load: Vec<(u64, usize)>,
    /// The load while the first node is drained.
    surge: Option<usize>,
}

fn demand() -> impl Strategy<Value = Demand> {
    let own = || proptest::option::of((0..400u64).prop_map(Duration::from_secs));
    let load = proptest::collection::vec((1..300u64, 0..55usize), 4..16);
    let pool = (2..7usize, 0..4usize, 0..3i64, 1..3i64);
    (pool, (0..200u64, own(), own()), load, proptest::option::of(0..55usize)).prop_map(
        |((nodes, work, min, requests), (both, scale_out, scale_in), load, surge)| {
            let cooldown = Cooldowns { both: Duration::from_secs(both), scale_out, scale_in };
            Demand { nodes, work, min, requests, cooldown, load, surge }
        },
    )
}

/// Gives how many nodes were taken back.
async fn follow(case: &Demand) -> Result<usize, TestCaseError> {
    let parameters = PoolParameters {
        min: case.min,
        max: 8,
        scaling_threshold: case.requests,
        cooldown: case.cooldown,
        provider: ProviderKind::Local,
        ..parameters()
    };
    let mut machine = Machine::new(case.nodes, case.work, parameters, Faults::none(1));
    machine.surge = case.surge;
    let world = World::new(machine);
    let autoscaler = autoscaler(&world);
    let load = async {
        for (seconds, count) in &case.load {
            tokio::time::sleep(Duration::from_secs(*seconds)).await;
            world.machine().set_work(*count);
        }
        tokio::time::sleep(Duration::from_secs(1200)).await;
    };
    tokio::select! {
        () = autoscaler.run() => return Err(TestCaseError::fail("it gave up")),
        () = load => {}
    }
    let record = world.record();
    let machine = world.machine();
    prop_assert_eq!(&machine.violations, &Vec::<String>::new());
    prop_assert!(!record.failsafe_mode && record.failure_count == 0, "{record:?}");
    Ok(machine.taken_back)
}

/// Whatever the load does, a node that drains is taken back before its pool is too small without it, never after that,
/// and operations keep to the cooldowns of their directions.
#[test]
fn pools_take_back_what_they_need_and_keep_to_their_cooldowns() {
    let config = ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() };
    let taken_back = std::cell::Cell::new(0);
    let played = proptest::test_runner::TestRunner::new(config).run(&demand(), |case| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        taken_back.set(taken_back.get() + runtime.block_on(follow(&case))?);
        Ok(())
    });
    played.unwrap_or_else(|e| panic!("{e}"));
    println!("{} nodes were taken back", taken_back.get());
    assert!(taken_back.get() > 0, "no node was taken back: the loads show nothing");
}
