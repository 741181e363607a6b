use std::sync::atomic::{AtomicUsize, Ordering};

use encamp_model::DeploymentStatus;
use tokio::time::timeout;

use super::super::fake::{Fake, Fault, Rollouts, START, Stop};
use super::*;
use crate::notify::Reason;

fn scaler(fake: &Arc<Fake>) -> JobScaler {
    let clock = fake.clone();
    let now = Arc::new(move || clock.now());
    JobScaler::new(Settings::default(), fake.clone(), fake.clone(), Metrics::default(), now)
}

/// Runs a scaler for that long.
async fn run_for(scaler: &JobScaler, seconds: u64) {
    let _ = timeout(Duration::from_secs(seconds), scaler.run()).await;
}

fn reasons(fake: &Fake) -> Vec<Reason> {
    fake.lock().notifications.iter().map(|n| n.reason).collect()
}

fn changes(fake: &Fake) -> Vec<(i64, i64)> {
    fake.lock().scaled.iter().map(|(_, from, to)| (*from, *to)).collect()
}

fn only(scaler: &JobScaler) -> GroupStatus {
    let groups = scaler.groups();
    assert_eq!(groups.len(), 1, "{groups:?}");
    groups.into_iter().next().expect("one")
}

fn web() -> GroupId {
    GroupId { namespace: "default".into(), job: "web".into(), group: "g".into() }
}

#[tokio::test(start_paused = true)]
async fn a_busy_group_grows_to_its_maximum() {
    let fake = Fake::with_job(3, &[]);
    fake.lock().load = Some(90.0);
    let scaler = scaler(&fake);
    run_for(&scaler, 25).await;
    assert_eq!(changes(&fake), [(3, 4)]);
    let status = only(&scaler);
    assert_eq!(status.last_decision.action, Action::ScaleOut);
    assert_eq!(status.last_decision.reason, "the deployment of the new count goes on");
    assert!(status.operation.starts_with("count 3 to 4 since "), "{}", status.operation);
    assert_eq!(reasons(&fake), [], "it is not there yet");
    run_for(&scaler, 10).await;
    let record = fake.record();
    assert_eq!((&record.scaling, record.failure_count), (&None, 0));
    assert!(record.last_scaling_event.is_some());
    assert_eq!((record.resource_name.as_str(), record.resource_type), ("web/g", ResourceType::JobGroup));
    let sent = fake.lock().notifications.clone();
    assert_eq!(sent.len(), 1);
    assert_eq!(
        (sent[0].reason, sent[0].uid.as_str(), sent[0].cluster.as_str()),
        (Reason::ScaleOut, "team-a", "global")
    );
    assert_eq!((sent[0].resource_id.as_str(), sent[0].state_path.as_str()), ("web/g", web().state_path().as_str()));
    run_for(&scaler, 40).await;
    assert_eq!(changes(&fake), [(3, 4)], "the cooldown lasts for 60 s");
    assert!(only(&scaler).last_decision.reason.contains("cooldown"), "{:?}", only(&scaler));
    run_for(&scaler, 600).await;
    assert_eq!(changes(&fake), [(3, 4), (4, 5)]);
    let status = only(&scaler);
    assert_eq!((status.count, status.min, status.max, status.running, status.measured), (5, 1, 5, 5, 5));
    assert_eq!(status.cpu, Some(90.0));
    let why = "CPU usage is 90.0 %, above 75 %, but it has the most allocations, 5";
    assert_eq!((status.last_decision.action, status.last_decision.reason.as_str()), (Action::Denied, why));
}

#[tokio::test(start_paused = true)]
async fn an_idle_group_shrinks_to_its_minimum() {
    for rollouts in [Rollouts::Succeed, Rollouts::None] {
        let fake = Fake::with_job(3, &[]);
        (fake.lock().load, fake.lock().rollouts) = (Some(5.0), rollouts);
        run_for(&scaler(&fake), 900).await;
        assert_eq!(changes(&fake), [(3, 2), (2, 1)]);
        assert_eq!(reasons(&fake), [Reason::ScaleIn, Reason::ScaleIn]);
        assert_eq!(fake.record().scaling, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_within_its_bounds_is_left_alone_and_writes_nothing() {
    let fake = Fake::with_job(3, &[]);
    let scaler = scaler(&fake);
    run_for(&scaler, 300).await;
    assert_eq!((changes(&fake), fake.lock().points), (vec![], 0));
    assert_eq!(only(&scaler).last_decision.action, Action::None);
}

#[tokio::test(start_paused = true)]
async fn failsafe_mode_is_entered_once_and_left_by_operators() {
    for rollouts in [Rollouts::Fail, Rollouts::NeverEnd] {
        let fake = Fake::with_job(2, &[("replicator_max", "3")]);
        (fake.lock().load, fake.lock().rollouts) = (Some(90.0), rollouts);
        let scaler = scaler(&fake);
        run_for(&scaler, 3600).await;
        assert_eq!(changes(&fake), [(2, 3)], "{rollouts:?}");
        assert_eq!(reasons(&fake), [Reason::JobGroupFailsafeMode], "{rollouts:?}");
        let record = fake.record();
        assert_eq!((record.failsafe_mode, record.failure_count, record.scaling), (true, 1, None));
        let status = only(&scaler);
        assert_eq!((status.failsafe, status.failures), (true, 1));
        assert_eq!(status.last_decision.action, Action::Failsafe);

        let status = scaler.set_failsafe(&web(), false, "ops").await.expect("it is there");
        assert_eq!((status.failsafe, status.failures), (false, 0));
        assert!(status.failsafe_admin.ends_with(" ops"), "{status:?}");
        let index = fake.record_at(&web().state_path()).1;
        scaler.set_failsafe(&web(), false, "others").await.expect("no error");
        assert_eq!(fake.record_at(&web().state_path()).1, index, "it is in that state already");
        let other = GroupId { group: "h".into(), ..web() };
        assert_eq!(scaler.set_failsafe(&other, true, "ops").await, Err(FailsafeError::NotFound));
        run_for(&scaler, 100).await;
        assert!(!only(&scaler).failsafe);
    }
}

#[tokio::test(start_paused = true)]
async fn failures_below_the_threshold_are_tried_again() {
    let fake = Fake::with_job(2, &[("replicator_retry_threshold", "2"), ("replicator_max", "9")]);
    (fake.lock().load, fake.lock().scale) = (Some(90.0), Fault::Fails);
    let scaler = scaler(&fake);
    run_for(&scaler, 9).await;
    let record = fake.record();
    assert_eq!((record.failsafe_mode, record.failure_count, record.scaling), (false, 1, None));
    // Begin, three attempts, the failure.
    assert_eq!(fake.lock().points, 5);
    assert_eq!(reasons(&fake), []);
    run_for(&scaler, 3600).await;
    assert_eq!((changes(&fake), reasons(&fake)), (vec![], vec![Reason::JobGroupFailsafeMode]));
    let text = fake.lock().notifications[0].text.clone();
    assert!(text.contains("web/g is no longer scaled after 2 failures") && text.contains("no luck"), "{text}");

    fake.lock().scale = Fault::Hangs;
    scaler.set_failsafe(&web(), false, "ops").await.expect("it is there");
    run_for(&scaler, 3600).await;
    assert_eq!((changes(&fake), reasons(&fake).len()), (vec![], 2), "calls that hang are failures");

    fake.lock().scale = Fault::FailsAfterEffect;
    scaler.set_failsafe(&web(), false, "ops").await.expect("it is there");
    run_for(&scaler, 80).await;
    assert_eq!((changes(&fake), fake.record().failure_count), (vec![(2, 3)], 0), "an error after the effect is none");
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_point_changes_nothing_about_the_end() {
    for (rollouts, ends) in
        [(Rollouts::Succeed, (3, false, 0)), (Rollouts::None, (3, false, 0)), (Rollouts::Fail, (3, true, 1))]
    {
        let made = || {
            let fake = Fake::with_job(2, &[("replicator_max", "3")]);
            (fake.lock().load, fake.lock().rollouts) = (Some(90.0), rollouts);
            fake
        };
        let end = |fake: &Fake| {
            let r = fake.record();
            assert_eq!(r.scaling, None);
            (fake.count(), r.failsafe_mode, r.failure_count)
        };
        let calm = made();
        run_for(&scaler(&calm), 1200).await;
        assert_eq!(end(&calm), ends, "{rollouts:?}");
        let points = calm.lock().points;
        // The change is written, the count set, the end written.
        assert_eq!(points, 3, "{rollouts:?}");
        let stops: Vec<Stop> = (0..points).flat_map(|p| [Stop::Before(p), Stop::After(p)]).collect();
        // Points are counted on after a restart: there is one more then, the count being set again.
        let later: Vec<Stop> = (0..=points).flat_map(|p| [Stop::Before(p), Stop::After(p)]).collect();
        let pairs = stops.iter().flat_map(|a| later.iter().map(|b| (*a, Some(*b))));
        for (first, second) in stops.iter().map(|s| (*s, None)).chain(pairs) {
            let fake = made();
            let mut reached = 0;
            for stop in [Some(first), second].into_iter().flatten() {
                fake.lock().stop = Some(stop);
                let scaler = scaler(&fake);
                tokio::select! {
                    () = run_for(&scaler, 600) => {}
                    () = fake.stopped.notified() => reached += 1,
                }
            }
            assert!(reached > 0, "{first:?}");
            fake.lock().stop = None;
            run_for(&scaler(&fake), 1200).await;
            assert_eq!(end(&fake), ends, "{rollouts:?} {first:?} {second:?}");
            assert_eq!(changes(&fake), [(2, 3)], "{rollouts:?} {first:?} {second:?}: once");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_that_was_interrupted_for_long_is_given_up() {
    let fake = Fake::with_job(2, &[]);
    fake.lock().load = Some(90.0);
    fake.lock().stop = Some(Stop::After(0));
    let first = scaler(&fake);
    tokio::select! {
        () = first.run() => {}
        () = fake.stopped.notified() => {}
    }
    assert!(fake.record().scaling.is_some());
    fake.lock().load = Some(50.0);
    tokio::time::advance(Duration::from_secs(900)).await;
    let second = scaler(&fake);
    run_for(&second, 5).await;
    assert_eq!(only(&second).last_decision.reason, "a change of the count was interrupted for too long and given up");
    run_for(&second, 100).await;
    let record = fake.record();
    assert_eq!((record.scaling, record.failure_count, changes(&fake)), (None, 0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn two_scalers_change_a_count_once() {
    let fake = Fake::with_job(2, &[("replicator_max", "9")]);
    fake.lock().load = Some(90.0);
    let (a, b) = (scaler(&fake), scaler(&fake));
    tokio::join!(run_for(&a, 50), run_for(&b, 50));
    assert_eq!(changes(&fake), [(2, 3)]);
    assert_eq!(reasons(&fake), [Reason::ScaleOut]);
    tokio::join!(run_for(&a, 3600), run_for(&b, 3600));
    let all = changes(&fake);
    assert!(all.iter().all(|(from, to)| *to == from + 1), "{all:?}");
    assert_eq!(fake.count(), 9);
}

#[tokio::test(start_paused = true)]
async fn allocations_that_do_not_tell_are_left_out() {
    let fake = Fake::with_job(3, &[]);
    fake.lock().load = None;
    let scaler = scaler(&fake);
    run_for(&scaler, 60).await;
    let status = only(&scaler);
    assert_eq!((status.running, status.measured, status.cpu), (3, 0, None));
    let why = "no running allocation reports its usage";
    assert_eq!((status.last_decision.action, status.last_decision.reason.as_str()), (Action::Denied, why));
    assert_eq!(changes(&fake), []);
    fake.lock().usage = [("a1".to_string(), 80.0), ("a3".to_string(), 90.0)].into();
    run_for(&scaler, 8).await;
    assert_eq!(changes(&fake), [(3, 4)]);
    let status = only(&scaler);
    assert_eq!((status.running, status.measured, status.cpu), (3, 2, Some(85.0)));
}

#[tokio::test(start_paused = true)]
async fn many_hanging_allocations_take_a_bounded_time() {
    let fake = Fake::with_job(200, &[("replicator_max", "200")]);
    fake.lock().load = None;
    let began = Instant::now();
    scaler(&fake).cycle().await;
    assert_eq!(began.elapsed().as_secs(), 15);
}

#[tokio::test(start_paused = true)]
async fn other_changes_of_the_job_end_a_change() {
    let fake = Fake::with_job(2, &[]);
    fake.lock().load = Some(90.0);
    let scaler = scaler(&fake);
    run_for(&scaler, 5).await;
    assert_eq!(changes(&fake), [(2, 3)]);
    let job = fake.job();
    fake.lock().deployment(&job, "d-web-1", DeploymentStatus::Cancelled);
    fake.change(|job| job.task_groups[0].count = 5);
    run_for(&scaler, 5).await;
    let status = only(&scaler);
    assert_eq!(status.last_decision.reason, "another client changed the job while its count was being changed");
    let record = fake.record();
    assert_eq!((record.scaling, record.failure_count, status.failures), (None, 0, 0));
    assert!(status.cooldown_left > 0);
    assert_eq!((fake.count(), reasons(&fake)), (5, vec![]));
}

#[tokio::test(start_paused = true)]
async fn a_deployment_in_the_way_is_no_failure() {
    let fake = Fake::with_job(2, &[]);
    fake.lock().load = Some(90.0);
    let job = fake.job();
    fake.lock().deployment(&job, "d0", DeploymentStatus::Running);
    let scaler = scaler(&fake);
    run_for(&scaler, 30).await;
    assert_eq!(only(&scaler).last_decision.reason, "the job is in a deployment");
    assert_eq!(fake.lock().points, 0);
    fake.lock().deployment(&job, "d0", DeploymentStatus::Successful);
    // It begins between the change being written and the count being set.
    fake.lock().stop = Some(Stop::After(0));
    tokio::select! {
        () = scaler.run() => {}
        () = fake.stopped.notified() => {}
    }
    fake.lock().deployment(&job, "d1", DeploymentStatus::Running);
    run_for(&scaler, 8).await;
    assert_eq!(only(&scaler).last_decision.reason, "a deployment of the job began before the count was set");
    let record = fake.record();
    assert_eq!((record.scaling, record.failure_count, changes(&fake)), (None, 0, vec![]));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_done_without_leadership() {
    let fake = Fake::with_job(2, &[]);
    (fake.lock().load, fake.lock().leads) = (Some(90.0), false);
    let scaler = scaler(&fake);
    timeout(Duration::from_secs(1), scaler.run()).await.expect("it ends at once");
    scaler.cycle().await;
    assert_eq!((changes(&fake), fake.lock().points), (vec![], 0));
    assert_eq!(only(&scaler).last_decision.reason, "this instance is no longer the leader");
}

#[tokio::test(start_paused = true)]
async fn jobs_of_namespaces_have_states_of_their_own() {
    let fake = Fake::with_job(2, &[]);
    fake.register("dev", "web", 2, &[("replicator_max", "3")]);
    fake.register("dev", "off", 2, &[("replicator_enabled", "false")]);
    fake.lock().load = Some(90.0);
    let scaler = scaler(&fake);
    run_for(&scaler, 60).await;
    let found: Vec<_> = scaler.groups().into_iter().map(|g| (g.namespace, g.job, g.count)).collect();
    assert_eq!(found, [("default".into(), "web".into(), 3), ("dev".to_string(), "web".to_string(), 3)]);
    let names: Vec<_> = fake.lock().variables.keys().cloned().collect();
    assert_eq!(names, ["encamp/autoscale/state/jobs/dev~20web/g", "encamp/autoscale/state/jobs/web/g"]);
    assert_eq!(fake.record_at(&names[0]).0.resource_name, "dev/web/g");
    fake.lock().state = encamp_state::State::new();
    scaler.cycle().await;
    assert_eq!(scaler.groups(), []);
}

#[tokio::test(start_paused = true)]
async fn failsafe_mode_stops_a_group_and_a_change_in_progress() {
    let fake = Fake::with_job(2, &[("replicator_max", "9")]);
    fake.lock().load = Some(90.0);
    let scaler = scaler(&fake);
    run_for(&scaler, 15).await;
    scaler.set_failsafe(&web(), true, "ops").await.expect("it is there");
    run_for(&scaler, 600).await;
    let record = fake.record();
    let expected = vec![Reason::JobGroupFailsafeMode];
    assert_eq!((changes(&fake), record.scaling.is_some(), reasons(&fake)), (vec![(2, 3)], true, expected));
    assert_eq!(fake.lock().notifications[0].text, "ops enabled failsafe mode of web/g.");
    assert_eq!(only(&scaler).last_decision.action, Action::Failsafe);
    scaler.set_failsafe(&web(), false, "ops").await.expect("it is there");
    run_for(&scaler, 15).await;
    let expected = vec![Reason::JobGroupFailsafeMode, Reason::ScaleOut];
    assert_eq!((fake.record().scaling, reasons(&fake)), (None, expected), "it goes on where it was");
}

#[tokio::test(start_paused = true)]
async fn times_of_a_wrong_clock_are_repaired() {
    let fake = Fake::with_job(2, &[]);
    fake.lock().load = Some(90.0);
    let ahead = Time::from_unix_nanos(START + 1_000_000 * encamp_model::SECOND);
    let mut record = Record { last_scaling_event: Some(ahead), ..Record::new(ResourceType::JobGroup, "web/g") };
    let scaler = scaler(&fake);
    scaler.inner.save(&web().state_path(), &mut record, 0).await.expect("written");
    run_for(&scaler, 50).await;
    assert_eq!(changes(&fake), []);
    run_for(&scaler, 30).await;
    assert_eq!(changes(&fake), [(2, 3)], "after one cooldown");
}

#[tokio::test(start_paused = true)]
async fn a_damaged_state_object_stops_its_group_only() {
    let fake = Fake::with_job(2, &[]);
    fake.register("default", "api", 2, &[]);
    fake.lock().load = Some(90.0);
    let stored = crate::cluster::Stored { items: [("state".to_string(), "{".to_string())].into(), modify_index: 7 };
    fake.lock().variables.insert(web().state_path(), stored);
    let scaler = scaler(&fake);
    run_for(&scaler, 8).await;
    let decisions: Vec<_> = scaler.groups().into_iter().map(|g| (g.job, g.last_decision.action)).collect();
    assert_eq!(decisions, [("api".to_string(), Action::ScaleOut), ("web".to_string(), Action::Error)]);
    assert_eq!(fake.count(), 2);
}

/// Counts warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Warnings {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        if *event.metadata().level() == tracing::Level::WARN {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_meta_is_reported_once_per_change() {
    use tracing_subscriber::layer::SubscriberExt;
    let warnings = Warnings::default();
    // While there is one subscriber only, the first thread that comes to a log line decides whether it is logged at
    // all, and those of other tests have none.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(warnings.clone()));
    let warned = || warnings.0.load(Ordering::Relaxed);
    let fake = Fake::with_job(2, &[("replicator_scaleout_cpu", "101")]);
    let scaler = scaler(&fake);
    run_for(&scaler, 100).await;
    assert_eq!(warned(), 1);
    assert_eq!(only(&scaler).problems, ["replicator_scaleout_cpu is 101, but must be at most 100"]);
    fake.register("default", "web", 2, &[("replicator_scaleout_cpu", "-1")]);
    run_for(&scaler, 100).await;
    assert_eq!((warned(), only(&scaler).problems.len()), (2, 1));
    fake.register("default", "web", 2, &[]);
    run_for(&scaler, 100).await;
    assert_eq!((warned(), only(&scaler).problems), (2, vec![]));
    assert_eq!(only(&scaler).last_decision.action, Action::None);
}
