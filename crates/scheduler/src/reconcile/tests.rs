//! The examples of `docs/spec/reconciliation.md §14`, as far as the reconciler decides them.

use super::*;
use crate::descriptions;
use encamp_state::NodeEntry;

const NOW: i64 = 1_000_000 * SECOND;

/// Job `web`, group `g`, version 0, default update and reschedule policy.
fn job(count: i64) -> Job {
    let update = UpdateStrategy { max_parallel: 1, progress_deadline: 10 * MINUTE, ..Default::default() };
    let policy = ReschedulePolicy {
        delay: 30 * SECOND,
        delay_function: "exponential".into(),
        max_delay: HOUR,
        unlimited: true,
        ..Default::default()
    };
    let task = Task { name: "t".into(), kill_timeout: 5 * SECOND, ..Default::default() };
    let group = TaskGroup {
        name: "g".into(),
        count,
        update: Some(update),
        reschedule_policy: Some(policy),
        tasks: vec![task],
        ..Default::default()
    };
    Job { id: "web".into(), r#type: JobType::Service, create_index: 1, task_groups: vec![group], ..Default::default() }
}

fn batch_job(count: i64) -> Job {
    let mut j = job(count);
    j.r#type = JobType::Batch;
    let policy = ReschedulePolicy {
        attempts: 1,
        interval: 24 * HOUR,
        delay: 5 * SECOND,
        delay_function: "constant".into(),
        ..Default::default()
    };
    (j.task_groups[0].update, j.task_groups[0].reschedule_policy) = (None, Some(policy));
    j
}

/// The next version of a job.
fn next(old: &Job, change: impl FnOnce(&mut Job)) -> Job {
    let mut j = old.clone();
    j.version += 1;
    j.job_modify_index += 10;
    change(&mut j);
    j
}

/// The running allocation `web.g[i]`, ID `a<i>` on node `n<i>`.
fn alloc(i: usize, job: &Job) -> Allocation {
    Allocation {
        id: format!("a{i}").into(),
        name: format!("web.g[{i}]").into(),
        node_id: format!("n{i}").into(),
        job_id: "web".into(),
        task_group: "g".into(),
        job: Some(Arc::new(job.clone())),
        desired_status: DesiredStatus::Run,
        client_status: ClientStatus::Running,
        ..Default::default()
    }
}

fn allocs(n: usize, job: &Job) -> Vec<Allocation> {
    (0..n).map(|i| alloc(i, job)).collect()
}

fn failed(mut a: Allocation, at: i64) -> Allocation {
    a.client_status = ClientStatus::Failed;
    let state = TaskState { failed: true, finished_at: Time::from_unix_nanos(at), ..Default::default() };
    a.task_states.insert("t".into(), state);
    a
}

/// The rollout of a job version.
fn deployment(job: &Job, state: DeploymentState) -> Deployment {
    Deployment {
        id: format!("d{}", job.version),
        job_id: "web".into(),
        job_version: job.version,
        job_create_index: job.create_index,
        status: DeploymentStatus::Running,
        task_groups: BTreeMap::from([("g".to_string(), Some(state))]),
        ..Default::default()
    }
}

struct Run {
    deployment: Option<Deployment>,
    tainted: TaintedNodes,
    now: i64,
    eval_id: &'static str,
    /// Whether changes of the job are destructive.
    destructive: bool,
}

impl Default for Run {
    fn default() -> Run {
        let tainted = TaintedNodes::default();
        Run { deployment: None, tainted, now: NOW, eval_id: "e", destructive: true }
    }
}

impl Run {
    fn taint(mut self, node: &str, status: NodeStatus) -> Run {
        let n = Node { id: node.into(), status, ..Default::default() };
        self.tainted.insert(node.into(), Some(Arc::new(NodeEntry::new(Arc::new(n), 0))));
        self
    }

    fn on(&self, job: &Job, allocs: Vec<Allocation>) -> Results {
        let mut allocs: Vec<Arc<Allocation>> = allocs.into_iter().map(Arc::new).collect();
        allocs.sort_by(|a, b| a.id.cmp(&b.id));
        let input = Input {
            job: Some(job),
            job_id: "web",
            batch: job.r#type == JobType::Batch,
            deployment: self.deployment.clone(),
            allocs,
            eval_id: self.eval_id,
            eval_priority: 50,
            tainted: &self.tainted,
            now: self.now,
        };
        let mut check = |a: &Arc<Allocation>, _: &TaskGroup| {
            if a.job.as_ref().is_some_and(|j| j.job_modify_index == job.job_modify_index) {
                UpdateCheck::Ignore
            } else if self.destructive {
                UpdateCheck::Destructive
            } else {
                UpdateCheck::InPlace(Box::new((**a).clone()))
            }
        };
        let mut ids = 0;
        reconcile(input, &mut check, &mut || {
            ids += 1;
            format!("new{ids}")
        })
    }
}

fn run(job: &Job, allocs: Vec<Allocation>) -> Results {
    Run::default().on(job, allocs)
}

fn names(list: &[Placement]) -> Vec<&str> {
    list.iter().map(|p| p.name.strip_prefix("web.").unwrap_or(&p.name)).collect()
}

fn stops(r: &Results) -> Vec<(&str, &str)> {
    r.stop.iter().map(|s| (s.alloc.id.as_str(), s.description)).collect()
}

fn desired(r: &Results) -> DesiredUpdates {
    r.desired["g"].clone()
}

fn state_of(r: &Results) -> DeploymentState {
    r.deployment.as_ref().and_then(|d| d.task_groups["g"].clone()).expect("a deployment")
}

fn none() -> DesiredUpdates {
    DesiredUpdates::default()
}

#[test]
fn e1_new_job() {
    let j = job(3);
    let r = run(&j, vec![]);
    assert_eq!(names(&r.place), ["g[0]", "g[1]", "g[2]"]);
    assert_eq!(desired(&r), DesiredUpdates { place: 3, ..none() });
    assert_eq!(state_of(&r).desired_total, 3);
    assert_eq!(r.deployment.as_ref().unwrap().status_description, "Deployment is running");

    let healthy = DeploymentState { desired_total: 3, healthy_allocs: 3, ..Default::default() };
    let r = Run { deployment: Some(deployment(&j, healthy)), ..Run::default() }.on(&j, allocs(3, &j));
    assert_eq!(r.deployment_updates.len(), 1);
    assert_eq!(r.deployment_updates[0].status_description, "Deployment completed successfully");
    assert_eq!(desired(&r), DesiredUpdates { ignore: 3, ..none() });
}

#[test]
fn e2_scale_down() {
    let old = job(5);
    let new = next(&old, |j| j.task_groups[0].count = 3);
    let in_place = Run { destructive: false, ..Run::default() };
    let r = in_place.on(&new, allocs(5, &old));
    assert_eq!(stops(&r), [("a3", descriptions::NOT_NEEDED), ("a4", descriptions::NOT_NEEDED)]);
    assert_eq!(desired(&r), DesiredUpdates { in_place_update: 3, stop: 2, ..none() });
    assert_eq!(state_of(&r).desired_total, 3);

    let new = next(&old, |j| j.task_groups[0].count = 4);
    let mut existing = allocs(5, &old);
    existing[0].desired_transition.migrate = Some(true);
    existing[1].desired_transition.migrate = Some(true);
    let r = in_place.on(&new, existing);
    assert_eq!(stops(&r), [("a1", descriptions::NOT_NEEDED), ("a0", descriptions::MIGRATING)]);
    assert_eq!(names(&r.place), ["g[0]"]);
    assert_eq!(desired(&r), DesiredUpdates { in_place_update: 3, stop: 1, migrate: 1, ..none() });
    assert_eq!(state_of(&r).desired_total, 3);
}

#[test]
fn e3_destructive_update_rolls() {
    let old = next(&job(5), |j| j.task_groups[0].update.as_mut().unwrap().max_parallel = 2);
    let new = next(&old, |_| {});
    let r = run(&new, allocs(5, &old));
    assert_eq!(names(&r.destructive), ["g[0]", "g[1]"]);
    assert_eq!(desired(&r), DesiredUpdates { destructive_update: 2, ignore: 3, ..none() });
    assert_eq!(state_of(&r).desired_total, 5);

    // The new ones are not healthy yet, then they are, then one is not well.
    let rolling = deployment(&new, DeploymentState { desired_total: 5, placed_allocs: 2, ..Default::default() });
    for (health, destroyed) in [(None, 0), (Some(true), 2), (Some(false), 0)] {
        let mut existing = allocs(5, &old);
        for i in [0, 1] {
            existing[i] = alloc(i, &new);
            existing[i].deployment_id = Text::from(&rolling.id);
            existing[i].deployment_status =
                Some(Box::new(AllocDeploymentStatus { healthy: health, ..Default::default() }));
        }
        let r = Run { deployment: Some(rolling.clone()), ..Run::default() }.on(&new, existing);
        assert_eq!(desired(&r), DesiredUpdates { destructive_update: destroyed, ignore: 5 - destroyed, ..none() });
    }

    let grown = next(&old, |j| j.task_groups[0].count = 5);
    let r = run(&grown, allocs(3, &old));
    assert_eq!(desired(&r), DesiredUpdates { place: 2, ignore: 3, ..none() });
    assert_eq!(state_of(&r).desired_total, 5);

    let shrunk = next(&old, |j| j.task_groups[0].count = 3);
    let r = run(&shrunk, allocs(5, &old));
    assert_eq!(desired(&r), DesiredUpdates { stop: 2, destructive_update: 2, ignore: 1, ..none() });

    let at_once = next(&old, |j| j.task_groups[0].update.as_mut().unwrap().max_parallel = 0);
    let r = run(&at_once, allocs(5, &old));
    assert_eq!(r.destructive.len(), 5);
    assert!(r.deployment.is_none());
}

#[test]
fn e4_canaries() {
    let old = job(4);
    let new = next(&old, |j| j.task_groups[0].update.as_mut().unwrap().canary = 1);
    let r = run(&new, allocs(4, &old));
    assert_eq!(names(&r.place), ["g[0]"]);
    assert!(r.place[0].canary && r.place[0].previous.is_none() && r.stop.is_empty());
    assert_eq!(desired(&r), DesiredUpdates { canary: 1, ignore: 4, ..none() });
    let d = r.deployment.unwrap();
    assert_eq!(d.status_description, "Deployment is running but requires manual promotion");
    let state = d.task_groups["g"].clone().unwrap();
    assert_eq!((state.desired_total, state.desired_canaries), (4, 1));

    let waiting = DeploymentState { placed_canaries: vec!["c".into()], placed_allocs: 1, ..state };
    let d = deployment(&new, waiting.clone());
    let mut canary = alloc(0, &new);
    (canary.id, canary.node_id, canary.deployment_id) = ("c".into(), "nc".into(), d.id.as_str().into());
    canary.deployment_status =
        Some(Box::new(AllocDeploymentStatus { canary: true, healthy: Some(true), ..Default::default() }));
    let with_canary = || allocs(4, &old).into_iter().chain([canary.clone()]).collect::<Vec<_>>();
    let under_way = Run { deployment: Some(d), ..Run::default() };
    let r = under_way.on(&new, with_canary());
    assert_eq!(desired(&r), DesiredUpdates { ignore: 5, ..none() });
    assert!(r.stop.is_empty() && r.place.is_empty());

    let mut promoted = waiting.clone();
    promoted.promoted = true;
    let r = Run { deployment: Some(deployment(&new, promoted)), ..Run::default() }.on(&new, with_canary());
    assert_eq!(stops(&r), [("a0", descriptions::NOT_NEEDED)]);
    assert_eq!(names(&r.destructive), ["g[1]"]);
    assert_eq!(desired(&r), DesiredUpdates { stop: 1, destructive_update: 1, ignore: 3, ..none() });

    // Not promoted: a lost stable allocation is replaced by the old version, a lost canary by another canary.
    let r = under_way.taint("n2", NodeStatus::Down).on(&new, with_canary());
    assert_eq!(stops(&r), [("a2", descriptions::LOST)]);
    assert_eq!(names(&r.place), ["g[2]"]);
    assert!(r.place[0].downgrade && r.place[0].min_version == old.version);
    assert_eq!(desired(&r), DesiredUpdates { place: 1, stop: 1, ignore: 4, ..none() });
    let under_way = Run { deployment: Some(deployment(&new, waiting.clone())), ..Run::default() };
    let r = under_way.taint("nc", NodeStatus::Down).on(&new, with_canary());
    assert_eq!(stops(&r), [("c", descriptions::LOST)]);
    assert!(r.place.len() == 1 && r.place[0].canary);
    assert_eq!(desired(&r), DesiredUpdates { canary: 1, ignore: 4, ..none() });

    // The version after: the canary goes, the deployment is cancelled, the next canary comes.
    let newest = next(&new, |_| {});
    let r = Run { deployment: Some(deployment(&new, waiting)), ..Run::default() }.on(&newest, with_canary());
    assert_eq!(stops(&r), [("c", descriptions::NOT_NEEDED)]);
    assert_eq!(r.deployment_updates[0].status_description, "Cancelled due to newer version of job");
    assert!(r.place.len() == 1 && r.place[0].canary);
}

#[test]
fn e5_failed_allocation() {
    let j = job(3);
    let mut existing = allocs(3, &j);
    existing[0] = failed(existing[0].clone(), NOW);
    let r = run(&j, existing.clone());
    assert_eq!(desired(&r), DesiredUpdates { ignore: 3, reschedule_later: 1, ..none() });
    assert_eq!(r.follow_ups.len(), 1);
    let f = &r.follow_ups[0];
    assert_eq!((&f.triggered_by, &f.status), (&EvalTrigger::AllocReschedule, &EvalStatus::Pending));
    assert_eq!(f.wait_until.unix_nanos(), Some(NOW + 30 * SECOND));
    assert_eq!(r.attribute_updates[0].followup_eval_id, f.id);

    existing[0].followup_eval_id = "f1".into();
    assert_eq!(desired(&Run { now: NOW + 28 * SECOND, ..Run::default() }.on(&j, existing.clone())).place, 0);
    // An evaluation of its own, or any other once it is due.
    for (eval_id, now) in [("f1", NOW), ("e", NOW + 29 * SECOND)] {
        let r = Run { eval_id, now, ..Run::default() }.on(&j, existing.clone());
        assert_eq!(stops(&r), [("a0", descriptions::RESCHEDULED)]);
        assert!(r.place[0].reschedule);
        assert_eq!(desired(&r), DesiredUpdates { place: 1, stop: 1, ignore: 2, ..none() });
    }
}

#[test]
fn e5_failures_share_evaluations() {
    let j = job(4);
    let existing = [0, 3, 6, 10].into_iter().enumerate().map(|(i, s)| failed(alloc(i, &j), NOW + s * SECOND)).collect();
    let r = Run { now: NOW + 10 * SECOND, ..Run::default() }.on(&j, existing);
    let evals: Vec<_> = r
        .follow_ups
        .iter()
        .map(|e| (e.triggered_by.clone(), e.status_description.as_str(), e.wait_until.unix_nanos().unwrap() - NOW))
        .collect();
    let delayed = "created for delayed rescheduling";
    let (reschedule, failure) = (EvalTrigger::AllocReschedule, EvalTrigger::AllocFailure);
    assert_eq!(evals, [(reschedule, delayed, 30 * SECOND), (failure, "", 36 * SECOND)]);
    let of: Vec<&str> = r.attribute_updates.iter().map(|a| a.followup_eval_id.as_str()).collect();
    assert_eq!(of, [&*r.follow_ups[0].id, &*r.follow_ups[0].id, &*r.follow_ups[1].id, &*r.follow_ups[1].id]);
}

#[test]
fn e6_node_down() {
    let j = job(3);
    let r = Run::default().taint("n0", NodeStatus::Down).on(&j, allocs(3, &j));
    assert_eq!(stops(&r), [("a0", descriptions::LOST)]);
    assert_eq!(r.stop[0].client_status, ClientStatus::Lost);
    assert!(names(&r.place) == ["g[0]"] && r.place[0].previous.is_some() && !r.place[0].reschedule);
    assert_eq!(desired(&r), DesiredUpdates { place: 1, stop: 1, ignore: 2, ..none() });

    let mut j = job(3);
    j.task_groups[0].disconnect =
        Some(DisconnectStrategy { stop_on_client_after: Some(30 * SECOND), ..Default::default() });
    let r = Run::default().taint("n0", NodeStatus::Down).on(&j, allocs(3, &j));
    assert_eq!(r.follow_ups[0].triggered_by, EvalTrigger::AllocFailure);
    assert_eq!(r.follow_ups[0].wait_until.unix_nanos(), Some(NOW + 35 * SECOND));
    assert_eq!(r.stop[0].followup_eval, r.follow_ups[0].id);
    assert!(r.place.is_empty());
    assert_eq!(desired(&r), DesiredUpdates { stop: 1, ignore: 2, ..none() });
}

fn disconnecting_job(count: i64, d: DisconnectStrategy) -> Job {
    let mut j = job(count);
    j.task_groups[0].disconnect = Some(d);
    j
}

fn unknown_since(mut a: Allocation, at: i64) -> Allocation {
    a.client_status = ClientStatus::Unknown;
    a.alloc_states.push(AllocState { field: 0, value: ClientStatus::Unknown, time: Time::from_unix_nanos(at) });
    a
}

#[test]
fn e7_disconnect_and_reconnect() {
    let j = disconnecting_job(3, DisconnectStrategy { lost_after: 5 * MINUTE, ..Default::default() });
    let r = Run::default().taint("n0", NodeStatus::Disconnected).on(&j, allocs(3, &j));
    let triggers: Vec<_> =
        r.follow_ups.iter().map(|e| (e.triggered_by.clone(), e.wait_until.unix_nanos().unwrap() - NOW)).collect();
    let (timeout, reschedule) = (EvalTrigger::MaxDisconnectTimeout, EvalTrigger::AllocReschedule);
    assert_eq!(triggers, [(timeout, 5 * MINUTE), (reschedule, 30 * SECOND)]);
    let u = &r.disconnect_updates[0];
    assert_eq!((&u.client_status, u.client_description.as_str()), (&ClientStatus::Unknown, descriptions::UNKNOWN));
    assert_eq!(u.followup_eval_id, r.follow_ups[1].id);
    assert_eq!(desired(&r), DesiredUpdates { disconnect: 1, reschedule_later: 1, ignore: 3, ..none() });

    // The follow-up replaces it, the original stays.
    let mut existing = allocs(3, &j);
    existing[0] = unknown_since(existing[0].clone(), NOW);
    existing[0].followup_eval_id = "f".into();
    let later = Run { now: NOW + 30 * SECOND, eval_id: "f", ..Run::default() }.taint("n0", NodeStatus::Disconnected);
    let r = later.on(&j, existing.clone());
    assert!(r.stop.is_empty() && r.place[0].reschedule);
    assert_eq!(desired(&r), DesiredUpdates { place: 1, ignore: 2, ..none() });

    // It comes back while the replacement is pending: best_score keeps the original.
    let mut replacement = alloc(0, &j);
    (replacement.id, replacement.node_id) = ("b0".into(), "nb".into());
    replacement.client_status = ClientStatus::Pending;
    existing[0].next_allocation = "b0".into();
    existing[0].client_status = ClientStatus::Running;
    existing.push(replacement);
    let r = Run { now: NOW + MINUTE, ..Run::default() }.on(&j, existing.clone());
    assert_eq!(stops(&r), [("b0", descriptions::RECONNECTED)]);
    let states: Vec<_> = r.reconnect_updates[0].alloc_states.iter().map(|s| s.value.clone()).collect();
    assert_eq!(states, [ClientStatus::Unknown, ClientStatus::Running]);
    assert_eq!(desired(&r), DesiredUpdates { stop: 1, reconnect: 1, ignore: 3, ..none() });

    // Or it never does.
    existing[0].client_status = ClientStatus::Unknown;
    let expired = Run { now: NOW + 5 * MINUTE, ..Run::default() }.taint("n0", NodeStatus::Disconnected);
    assert_eq!(stops(&expired.on(&j, existing)), [("a0", descriptions::LOST)]);
}

#[test]
fn reconnecting_allocations_and_their_replacements() {
    for (reconcile, running, kept) in [
        ("keep_original", true, "a0"),
        ("keep_replacement", true, "b0"),
        ("best_score", true, "b0"),
        ("best_score", false, "a0"),
        ("longest_running", true, "a0"),
    ] {
        let d = DisconnectStrategy { lost_after: HOUR, reconcile: reconcile.into(), ..Default::default() };
        let j = disconnecting_job(1, d);
        let scored = |score| {
            let m = NodeScoreMeta { norm_score: score, ..Default::default() };
            Some(AllocMetric { score_meta_data: vec![m], ..Default::default() }.into())
        };
        let started = |at| TaskState { started_at: Time::from_unix_nanos(at), ..Default::default() };
        let mut a = unknown_since(alloc(0, &j), NOW - MINUTE);
        (a.client_status, a.next_allocation, a.metrics) = (ClientStatus::Running, "b0".into(), scored(0.5));
        a.task_states.insert("t".into(), started(NOW - HOUR));
        let mut b = alloc(0, &j);
        (b.id, b.metrics) = ("b0".into(), scored(0.6));
        b.task_states.insert("t".into(), started(NOW - SECOND));
        if !running {
            b.client_status = ClientStatus::Pending;
        }
        let r = run(&j, vec![a, b]);
        let stopped = if kept == "a0" { "b0" } else { "a0" };
        assert_eq!(r.stop.iter().map(|s| &*s.alloc.id).collect::<Vec<_>>(), [stopped], "{reconcile} {running}");
    }
}

#[test]
fn e8_no_replacement() {
    let j =
        disconnecting_job(3, DisconnectStrategy { lost_after: 2 * SECOND, replace: Some(false), ..Default::default() });
    let r = Run::default().taint("n0", NodeStatus::Disconnected).on(&j, allocs(3, &j));
    assert_eq!(desired(&r), DesiredUpdates { disconnect: 1, ignore: 3, ..none() });
    assert_eq!(r.follow_ups.len(), 1);
    let mut existing = allocs(3, &j);
    existing[0] = unknown_since(existing[0].clone(), NOW - 2 * SECOND);
    let r = Run::default().taint("n0", NodeStatus::Disconnected).on(&j, existing);
    assert_eq!(stops(&r), [("a0", descriptions::LOST)]);
    assert_eq!(desired(&r), DesiredUpdates { place: 1, stop: 1, ignore: 2, ..none() });
}

#[test]
fn e9_drain() {
    let j = job(3);
    let r = Run::default().taint("n0", NodeStatus::Ready).on(&j, allocs(3, &j));
    assert_eq!(desired(&r), DesiredUpdates { ignore: 3, ..none() });
    let migrating = |j: &Job| {
        let mut existing = allocs(3, j);
        existing[0].desired_transition.migrate = Some(true);
        existing
    };
    let r = run(&j, migrating(&j));
    assert_eq!(stops(&r), [("a0", descriptions::MIGRATING)]);
    assert_eq!(names(&r.place), ["g[0]"]);
    assert_eq!(desired(&r), DesiredUpdates { migrate: 1, ignore: 2, ..none() });

    let b = batch_job(3);
    let mut existing = migrating(&b);
    existing[0].desired_transition.migrate_disable_placement = Some(true);
    let r = run(&b, existing.clone());
    assert!(r.place.is_empty() && r.stop.len() == 1);
    (existing[0].desired_status, existing[0].client_status) = (DesiredStatus::Stop, ClientStatus::Complete);
    assert_eq!(desired(&run(&b, existing)), DesiredUpdates { ignore: 3, ..none() });

    // Stopped by hand: placed at once, or later if a reschedule was asked for.
    assert_eq!(names(&run(&b, migrating(&b)).place), ["g[0]"]);
    let mut existing = migrating(&b);
    existing[0].desired_transition.reschedule = Some(true);
    existing[0].modify_time = NOW;
    let r = run(&b, existing);
    assert!(r.place.is_empty());
    assert_eq!(r.follow_ups[0].wait_until.unix_nanos(), Some(NOW + 5 * SECOND));
    assert_eq!(r.stop[0].followup_eval, r.follow_ups[0].id);
    assert_eq!(desired(&r), DesiredUpdates { migrate: 1, reschedule_later: 1, ignore: 2, ..none() });
}

#[test]
fn e10_batch() {
    let j = batch_job(3);
    let mut existing = allocs(3, &j);
    existing[0].client_status = ClientStatus::Complete;
    existing[1].client_status = ClientStatus::Complete;
    assert_eq!(desired(&run(&j, existing.clone())), DesiredUpdates { ignore: 3, ..none() });
    existing[2] = failed(existing[2].clone(), NOW);
    let r = run(&j, existing.clone());
    assert_eq!(r.follow_ups[0].wait_until.unix_nanos(), Some(NOW + 5 * SECOND));
    let r = Run { now: NOW + 5 * SECOND, ..Run::default() }.on(&j, existing.clone());
    assert_eq!(names(&r.place), ["g[2]"]);
    assert_eq!(desired(&r), DesiredUpdates { place: 1, stop: 1, ignore: 2, ..none() });

    // The one attempt is used up.
    let mut replaced = existing[2].clone();
    (replaced.desired_status, replaced.next_allocation) = (DesiredStatus::Stop, "b2".into());
    let mut again = failed(alloc(2, &j), NOW + MINUTE);
    again.id = "b2".into();
    again.reschedule_tracker = Some(Box::new(crate::reschedule::tracker_of_replacement(&existing[2], NOW)));
    existing[2] = replaced;
    existing.push(again);
    let r = Run { now: NOW + HOUR, ..Run::default() }.on(&j, existing.clone());
    assert!(r.place.is_empty() && r.stop.is_empty() && r.follow_ups.is_empty());

    // A new version runs everything again.
    let r = run(&next(&j, |_| {}), existing);
    assert_eq!(r.place.len(), 3);
    assert!(r.stop.is_empty());
}

#[test]
fn stopped_and_purged_jobs() {
    let old = job(2);
    let stopped = next(&old, |j| j.stop = true);
    let running = deployment(&old, DeploymentState::default());
    let mut existing = allocs(3, &old);
    existing[2].client_status = ClientStatus::Complete;
    let r = Run { deployment: Some(running), ..Run::default() }.on(&stopped, existing);
    assert_eq!(stops(&r), [("a0", descriptions::NOT_NEEDED), ("a1", descriptions::NOT_NEEDED)]);
    assert_eq!(r.deployment_updates[0].status_description, "Cancelled because job is stopped");
    assert_eq!(desired(&r), DesiredUpdates { stop: 2, ..none() });
}

#[test]
fn paused_and_failed_deployments_only_replace() {
    let old = job(3);
    let new = next(&old, |_| {});
    for status in [DeploymentStatus::Paused, DeploymentStatus::Failed] {
        let mut d = deployment(&new, DeploymentState { desired_total: 3, ..Default::default() });
        d.status = status;
        let r = Run { deployment: Some(d), ..Run::default() }.taint("n0", NodeStatus::Down).on(&new, allocs(3, &old));
        assert!(r.destructive.is_empty());
        assert_eq!(names(&r.place), ["g[0]"]);
        assert_eq!(desired(&r), DesiredUpdates { place: 1, stop: 1, ignore: 2, ..none() });
    }
}

#[test]
fn more_canaries_than_allocations_are_cut_off() {
    let old = job(2);
    let new = next(&old, |j| j.task_groups[0].update.as_mut().unwrap().canary = 3);
    let r = run(&new, allocs(2, &old));
    assert_eq!(names(&r.place), ["g[0]", "g[1]"]);
    assert_eq!(desired(&r), DesiredUpdates { canary: 3, place: 2, ignore: 2, ..none() });
}

#[test]
fn finished_service_allocations_are_replaced_without_a_trace() {
    let j = job(2);
    let mut existing = allocs(2, &j);
    existing[0].client_status = ClientStatus::Complete;
    let r = run(&j, existing);
    assert!(r.stop.is_empty() && r.place.len() == 1 && r.place[0].previous.is_none());
    assert_eq!(names(&r.place), ["g[0]"]);
}
