//! Two autoscalers at once, failsafe mode, hanging pools and the status for operators.

use std::time::Duration;

use super::*;
use crate::cooldown::Cooldowns;
use crate::params::PoolParameters;
use crate::protection::{ProtectedBy, ServerMember, Servers};
use crate::provider::{Answer, GroupId, ScalingGroup};
use crate::test_cluster::parameters;
use crate::testing::faults::Faults;
use crate::testing::{Effect, Machine};

fn pool() -> PoolParameters {
    let cooldown = Cooldowns::one(Duration::from_secs(24 * 3600));
    PoolParameters { cooldown, scaling_threshold: 2, provider: ProviderKind::Local, ..parameters() }
}

/// A pool that needs a fourth node.
fn short() -> Machine {
    Machine::new(3, 8, pool(), Faults::none(1))
}

async fn run_for(autoscaler: &Autoscaler, time: Duration) {
    let ended = tokio::time::timeout(time, autoscaler.run()).await;
    assert!(ended.is_err(), "it gave up");
}

const MINUTES: Duration = Duration::from_secs(600);

#[tokio::test(start_paused = true)]
async fn of_two_autoscalers_one_begins() {
    let world = World::new(short());
    let (first, second) = (autoscaler(&world), autoscaler(&world));
    tokio::join!(run_for(&first, MINUTES), run_for(&second, MINUTES));
    let machine = world.machine();
    assert_eq!((machine.begun, machine.ended, machine.group.desired), (1, 1, 4));
    assert_eq!((&machine.held, &machine.violations), (&vec![Effect::SetDesired(4)], &Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn operators_see_a_scale_out_and_are_told() {
    let world = World::new(short());
    let scaler = autoscaler(&world);
    let seen = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let [first] = scaler.pools().try_into().unwrap();
        tokio::time::sleep(Duration::from_secs(7)).await;
        let [second] = scaler.pools().try_into().unwrap();
        tokio::time::sleep(Duration::from_secs(120)).await;
        (first, second, scaler.pools().remove(0))
    };
    let (first, second, last): (PoolStatus, PoolStatus, PoolStatus) = tokio::select! {
        () = scaler.run() => panic!("it gave up"),
        seen = seen => seen,
    };
    assert_eq!((first.pool.as_str(), first.nodes, first.min, first.max), ("web", 3, 1, 10));
    assert_eq!((first.metric.as_str(), first.utilization, first.max_allowed), ("cpu", 24_000, 20_000));
    assert_eq!((first.direction.as_str(), first.scale_out_requests), ("out", 1));
    assert_eq!(first.last_decision.action, Action::Requested);
    assert_eq!(first.last_decision.reason, "1 of 2 consecutive requests to scale out");
    assert_eq!(second.operation, "out: waiting until the group has 4 instances");
    assert_eq!((last.nodes, last.operation.as_str(), last.last_decision.action), (4, "", Action::Denied));
    assert!(last.cooldown_left > 0 && last.cooldown_left <= 24 * 3600 * encamp_model::SECOND);
    let sent = world.sent.lock();
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].reason, sent[0].uid.as_str(), sent[0].resource_id.as_str()), (Reason::ScaleOut, "uid", "web"));
    assert_eq!(sent[0].state_path, "encamp/autoscale/state/nodes/web");
}

#[tokio::test(start_paused = true)]
async fn nodes_of_servers_are_never_removed() {
    let machine = Machine::new(4, 1, PoolParameters { scaling_threshold: 1, ..pool() }, Faults::none(1));
    let world = World::new(machine);
    // The first one is that of the leader's agent, the second one that of another server.
    world.machine().change_node("n-0002", |n| n.http_addr = "10.0.0.2:4646".into());
    let member = ServerMember::new("name-n-0002.global", "global", ["10.0.0.2:4648"]);
    world.machine().servers = Servers { own_node: Some("n-0001".into()), members: vec![member] };
    let scaler = autoscaler(&world);
    run_for(&scaler, MINUTES).await;
    assert_eq!(world.machine().ended, 1);
    assert_eq!(world.machine().violations, Vec::<String>::new());
    assert_eq!(world.machine().held[0], Effect::Drain("n-0003".into()), "ties go by ID");
    let [status] = scaler.pools().try_into().unwrap();
    let protected = status.protected.iter().map(|n| (n.id.as_str(), n.reason));
    assert_eq!(protected.collect::<Vec<_>>(), [("n-0001", ProtectedBy::Server), ("n-0002", ProtectedBy::Server)]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_removed_while_the_servers_are_not_known() {
    let machine = Machine::new(4, 1, PoolParameters { scaling_threshold: 1, ..pool() }, Faults::none(1));
    let world = World::new(machine);
    world.machine().faults.servers_unknown = true;
    let scaler = autoscaler(&world);
    run_for(&scaler, MINUTES).await;
    assert_eq!(world.machine().begun, 0);
    assert_eq!(scaler.pools(), []);
    world.machine().faults.servers_unknown = false;
    run_for(&scaler, MINUTES).await;
    assert_eq!(world.machine().ended, 1);
}

#[tokio::test(start_paused = true)]
async fn failsafe_mode_stops_everything_until_it_is_disabled() {
    let world = World::new(short());
    let scaler = autoscaler(&world);
    assert_eq!(scaler.set_failsafe("other", true, "ops").await, Err(FailsafeError::NotFound));
    assert_eq!(scaler.set_failsafe("web", true, "ops").await, Err(FailsafeError::NotFound), "not seen yet");
    run_for(&scaler, Duration::from_secs(5)).await;
    let status = scaler.set_failsafe("web", true, "ops").await.unwrap();
    assert!(status.failsafe && status.failsafe_admin.ends_with(" ops"), "{status:?}");
    assert_eq!(scaler.set_failsafe("web", true, "another").await.unwrap().failsafe_admin, status.failsafe_admin);
    run_for(&autoscaler(&world), MINUTES).await;
    assert_eq!(world.machine().begun, 0);
    assert_eq!(world.machine().held, []);
    scaler.set_failsafe("web", false, "ops").await.unwrap();
    run_for(&scaler, MINUTES).await;
    assert_eq!(world.machine().ended, 1);
    assert_eq!(world.machine().group.desired, 4);
}

#[tokio::test(start_paused = true)]
async fn three_failures_of_the_provider_lead_to_failsafe_mode_and_then_it_goes_on() {
    let mut machine = short();
    machine.faults.effects = 1000;
    machine.group.max = 3;
    machine.parameters.max = 10;
    let world = World::new(machine);
    let scaler = autoscaler(&world);
    // Writes fail as well: nothing is begun.
    run_for(&scaler, MINUTES).await;
    assert_eq!(world.machine().begun, 0);
    // The group refuses more instances than its maximum, which nobody asks for.
    world.machine().faults.effects = 0;
    run_for(&scaler, MINUTES).await;
    assert_eq!(world.machine().begun, 0);
    world.machine().group.max = 4;
    world.machine().faults.halves = 1000;
    run_for(&scaler, MINUTES).await;
    let record = world.record();
    assert_eq!((record.failsafe_mode, record.failure_count), (true, 3));
    let step = record.operation.map(|o| o.step);
    assert_eq!(step, Some(crate::record::Step::SetDesired), "the operation stays");
    let notified = world.sent.lock().iter().filter(|n| n.reason == Reason::ClusterFailsafeMode).count();
    assert_eq!(notified, 1);
    world.machine().faults.halves = 0;
    scaler.set_failsafe("web", false, "ops").await.unwrap();
    run_for(&scaler, MINUTES).await;
    assert_eq!(world.record().operation, None);
    assert_eq!(world.machine().group.desired, 4);
}

#[tokio::test(start_paused = true)]
async fn it_ends_when_it_does_not_lead_any_more() {
    let world = World::new(short());
    let scaler = autoscaler(&world);
    let lose = async {
        tokio::time::sleep(Duration::from_secs(12)).await;
        world.machine().leads = false;
    };
    let (ended, ()) = tokio::join!(tokio::time::timeout(Duration::from_secs(60), scaler.run()), lose);
    assert!(ended.is_ok());
    assert_eq!(world.machine().begun, 1);
    assert_eq!(world.machine().ended, 0);
    assert_eq!(scaler.pools(), []);
    let write = scaler.set_failsafe("web", true, "ops").await;
    assert_eq!(write, Err(FailsafeError::Store(StoreError::Cluster(ClusterError::NotLeader))));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_hangs_is_waited_for_and_read_again() {
    let world = World::new(short());
    world.machine().faults.reads = 1000;
    let scaler = autoscaler(&world);
    run_for(&scaler, MINUTES).await;
    assert_eq!(world.machine().begun, 0);
    world.machine().faults.reads = 0;
    run_for(&scaler, MINUTES).await;
    assert_eq!(world.machine().ended, 1);
}

/// A provider that never answers.
struct Hanging;

impl Provider for Hanging {
    fn group<'a>(&'a self, _: GroupId<'a>) -> Answer<'a, ScalingGroup> {
        Box::pin(std::future::pending())
    }

    fn set_desired<'a>(&'a self, _: GroupId<'a>, _: i64) -> Answer<'a, ()> {
        Box::pin(std::future::pending())
    }

    fn terminate<'a>(&'a self, _: GroupId<'a>, _: &'a str, _: bool) -> Answer<'a, ()> {
        Box::pin(std::future::pending())
    }

    fn detach<'a>(&'a self, _: GroupId<'a>, _: &'a str) -> Answer<'a, ()> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_hangs_does_not_hold_up_others() {
    let world = World::new(short());
    let meta = crate::test_cluster::pool_meta(serde_json::json!({
        "replicator_worker_pool": "stuck", "replicator_provider": "command",
    }));
    let stuck = crate::test_cluster::node("z", serde_json::json!({"Meta": meta, "Attributes": {}}));
    world.machine().state.upsert_node(stuck);
    let clock = world.clone();
    let providers: [(ProviderKind, Arc<dyn Provider>); 2] =
        [(ProviderKind::Local, world.clone()), (ProviderKind::Command, Arc::new(Hanging))];
    let scaler = Autoscaler::new(
        Settings { concurrency: 2, ..Settings::default() },
        world.clone(),
        Providers::from(providers),
        world.clone(),
        Metrics::default(),
        None,
        Arc::new(move || clock.now()),
    );
    // Two cycles, 5 s until the instance runs, 20 s until it is a node: a call that hangs takes longer.
    tokio::select! {
        () = scaler.run() => panic!("it gave up"),
        () = tokio::time::sleep(Duration::from_secs(50)) => {}
    }
    assert_eq!(world.machine().ended, 1);
    let stuck = scaler.pools().into_iter().find(|p| p.pool == "stuck").unwrap();
    assert_eq!(stuck.last_decision.action, Action::None, "it is still asked for");
    tokio::select! {
        () = scaler.run() => panic!("it gave up"),
        () = tokio::time::sleep(Duration::from_secs(80)) => {}
    }
    let stuck = scaler.pools().into_iter().find(|p| p.pool == "stuck").unwrap();
    assert_eq!(stuck.last_decision.action, Action::Denied, "it was given up");
}

#[tokio::test(start_paused = true)]
async fn pools_may_hold_their_configuration_in_a_variable() {
    let world = World::new(short());
    let alone = serde_json::json!({"replicator_worker_pool": "alone"});
    let node = crate::test_cluster::node("z", serde_json::json!({"Meta": alone}));
    world.machine().state.upsert_node(node);
    let scaler = autoscaler(&world);
    run_for(&scaler, Duration::from_secs(5)).await;
    let pools = scaler.pools();
    assert_eq!(pools.iter().map(|p| (p.pool.as_str(), p.nodes)).collect::<Vec<_>>(), [("alone", 0), ("web", 3)]);
    assert!(pools[0].problems[0].contains("encamp/autoscale/pools/alone"), "{:?}", pools[0].problems);
    let mut items = crate::test_cluster::pool_meta(serde_json::json!({"replicator_worker_pool": "alone"}));
    let items = std::mem::take(items.as_object_mut().unwrap());
    let items = items.into_iter().map(|(k, v)| (k, v.as_str().unwrap().to_string())).collect();
    world.machine().put_variable("encamp/autoscale/pools/alone", items);
    run_for(&scaler, Duration::from_secs(5)).await;
    let pools = scaler.pools();
    assert_eq!((pools[0].nodes, pools[0].max, pools[0].problems.len()), (1, 10, 0));
    assert_eq!(pools[0].last_decision.action, Action::Denied, "its provider is not configured: {:?}", pools[0]);
}
