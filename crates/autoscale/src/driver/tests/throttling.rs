//! A cloud provider that throttles requests: throttled requests are counted, shown and retried, and nothing is done
//! twice (`docs/spec/cluster-scaling.md §4`, `§6`).

use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::cooldown::Cooldowns;
use crate::params::PoolParameters;
use crate::provider::{Answer, GroupId, ProviderError, ScalingGroup};
use crate::test_cluster::parameters;
use crate::testing::faults::Faults;
use crate::testing::{Effect, Machine};

/// The throttled calls, and for how many more calls they are.
#[derive(Debug, Default)]
struct Left {
    group: usize,
    terminate: usize,
    /// Calls of `terminate` so far.
    asked: usize,
}

/// The provider of a world behind a limit of requests.
struct Throttling {
    world: Arc<World>,
    left: Mutex<Left>,
}

fn throttled<'a, T: Send + 'a>() -> Answer<'a, T> {
    Box::pin(async { Err(ProviderError::Throttled("Rate exceeded".into())) })
}

/// Whether one more call is throttled.
fn one_of(left: &mut usize) -> bool {
    let throttled = *left > 0;
    *left = left.saturating_sub(1);
    throttled
}

impl Provider for Throttling {
    fn group<'a>(&'a self, id: GroupId<'a>) -> Answer<'a, ScalingGroup> {
        if one_of(&mut self.left.lock().unwrap().group) { throttled() } else { self.world.group(id) }
    }

    fn set_desired<'a>(&'a self, id: GroupId<'a>, desired: i64) -> Answer<'a, ()> {
        self.world.set_desired(id, desired)
    }

    fn terminate<'a>(&'a self, id: GroupId<'a>, instance: &'a str, decrement: bool) -> Answer<'a, ()> {
        let mut left = self.left.lock().unwrap();
        left.asked += 1;
        if one_of(&mut left.terminate) { throttled() } else { self.world.terminate(id, instance, decrement) }
    }

    fn detach<'a>(&'a self, id: GroupId<'a>, instance: &'a str) -> Answer<'a, ()> {
        self.world.detach(id, instance)
    }
}

/// A pool of four nodes that needs three, and its autoscaler.
fn wide(left: Left) -> (Arc<World>, Arc<Throttling>, Autoscaler, Metrics) {
    let cooldown = Cooldowns::one(Duration::from_secs(24 * 3600));
    let parameters = PoolParameters { cooldown, provider: ProviderKind::Local, ..parameters() };
    let world = World::new(Machine::new(4, 1, parameters, Faults::none(1)));
    let provider = Arc::new(Throttling { world: world.clone(), left: Mutex::new(left) });
    let metrics = Metrics::default();
    let clock = world.clone();
    let scaler = Autoscaler::new(
        Settings { drain_deadline: Duration::from_secs(300), ..Settings::default() },
        world.clone(),
        Providers::from([(ProviderKind::Local, provider.clone() as Arc<dyn Provider>)]),
        world.clone(),
        metrics.clone(),
        None,
        Arc::new(move || clock.now()),
    );
    (world, provider, scaler, metrics)
}

/// Runs until something holds; looks once a second of the paused clock.
async fn until<T>(scaler: &Autoscaler, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            match look() {
                Some(found) => return found,
                None => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    };
    tokio::select! {
        () = scaler.run() => panic!("it gave up"),
        found = found => found,
        () = tokio::time::sleep(Duration::from_secs(3600)) => panic!("{what}: not within an hour"),
    }
}

fn only(scaler: &Autoscaler) -> Option<PoolStatus> {
    scaler.pools().into_iter().next()
}

#[tokio::test(start_paused = true)]
async fn a_throttled_removal_is_counted_shown_and_finished_once() {
    // Three tries are one failure; the second time the second try is accepted.
    let (world, provider, scaler, metrics) = wide(Left { terminate: 4, ..Left::default() });
    let (failed, record) = until(&scaler, "a failure", || {
        let status = only(&scaler).filter(|p| p.failures == 1 && p.last_decision.action == Action::Error)?;
        Some((status, world.record()))
    })
    .await;
    let reason = &failed.last_decision.reason;
    assert!(reason.starts_with("scaling in failed: ") && reason.ends_with(THROTTLED), "{reason}");
    assert_eq!(provider.left.lock().unwrap().asked, 3, "it is tried three times before it counts as a failure");
    assert!(metrics.prometheus().is_some_and(|m| m.contains("nomad_autoscale_pool_scale_in_failure{pool=\"web\"} 1")));
    let operation = record.operation.expect("it goes on with the same node");
    assert_eq!((operation.node_id.as_str(), operation.step), ("n-0001", crate::record::Step::Terminate));
    assert!(!record.failsafe_mode);

    until(&scaler, "the end", || (world.machine().ended == 1).then_some(())).await;
    // A cycle later nothing else has begun.
    until(&scaler, "a decision", || only(&scaler).filter(|p| p.last_decision.action == Action::Denied)).await;
    let machine = world.machine();
    let [drain, terminate, purge] =
        [Effect::Drain("n-0001".into()), Effect::Terminate("i-0001".into(), true), Effect::Purge("n-0001".into())];
    assert_eq!((&machine.held, machine.begun), (&vec![drain, terminate, purge], 1));
    assert_eq!((machine.group.desired, &machine.violations), (3, &Vec::new()));
    drop(machine);
    assert_eq!((world.record().failure_count, provider.left.lock().unwrap().asked), (0, 5));
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_keeps_throttling_leads_to_failsafe_mode_and_one_removal() {
    let (world, provider, scaler, _) = wide(Left { terminate: usize::MAX, ..Left::default() });
    until(&scaler, "failsafe mode", || only(&scaler).filter(|p| p.failsafe)).await;
    assert_eq!((world.record().failure_count, provider.left.lock().unwrap().asked), (3, 9));
    assert_eq!(world.machine().begun, 1);
    assert_eq!(world.machine().group.desired, 4);
    provider.left.lock().unwrap().terminate = 0;
    scaler.set_failsafe("web", false, "ops").await.unwrap();
    until(&scaler, "the end", || (world.machine().ended == 1).then_some(())).await;
    let machine = world.machine();
    assert_eq!((machine.begun, machine.group.desired, &machine.violations), (1, 3, &Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn nothing_begins_while_the_group_cannot_be_read() {
    let (world, provider, scaler, _) = wide(Left { group: usize::MAX, ..Left::default() });
    let denied =
        until(&scaler, "a refusal", || only(&scaler).filter(|p| p.last_decision.action == Action::Denied)).await;
    assert!(denied.last_decision.reason.ends_with(THROTTLED), "{}", denied.last_decision.reason);
    assert_eq!((world.machine().begun, denied.failures), (0, 0));
    // Within an operation it is read again, and one pause is too short for a failure.
    provider.left.lock().unwrap().group = 0;
    until(&scaler, "the drain", || (world.machine().begun == 1).then_some(())).await;
    provider.left.lock().unwrap().group = 2;
    until(&scaler, "the end", || (world.machine().ended == 1).then_some(())).await;
    assert_eq!((world.record().failure_count, world.machine().held.len()), (0, 3));
}

/// How the reason of a refusal ends.
const THROTTLED: &str = "the provider throttles requests: Rate exceeded";
