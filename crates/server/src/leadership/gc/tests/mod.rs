//! The boundary table and the worked examples of `docs/spec/garbage-collection.md`.

mod cascade;
mod examples;
mod explained;
mod kinds;
mod properties;

use std::sync::Arc;

use super::keys::{self, Step};
use super::rules;
use super::select::{self, Collected, JobKeys, batches};
use super::verdict::{Age, Thresholds, is_due};
use crate::evals::core_job::{CoreJob, EVERY};
use crate::settings::{AclSettings, GcSettings};
use encamp_model::gc::GcSetting;
use encamp_model::*;
use encamp_state::StateStore;

const NOW: i64 = 1_000 * HOUR;

/// The default thresholds, with access control.
fn defaults() -> Thresholds {
    let acl = AclSettings { enabled: true, ..AclSettings::default() };
    Thresholds::configured(&GcSettings::default(), &acl)
}

fn job(status: JobStatus, stop: bool, policy: Option<ReschedulePolicy>) -> Job {
    Job {
        id: "web".into(),
        namespace: "default".into(),
        r#type: JobType::Service,
        status,
        stop,
        task_groups: vec![TaskGroup { name: "g".into(), reschedule_policy: policy, ..Default::default() }],
        ..Default::default()
    }
}

fn alloc(id: &str, client_status: ClientStatus, desired_status: DesiredStatus) -> Allocation {
    Allocation {
        id: id.into(),
        namespace: "default".into(),
        job_id: "web".into(),
        task_group: "g".into(),
        eval_id: "e1".into(),
        client_status,
        desired_status,
        ..Default::default()
    }
}

fn policy(attempts: i64, interval: i64) -> Option<ReschedulePolicy> {
    Some(ReschedulePolicy { attempts, interval, ..Default::default() })
}

fn with_events(mut a: Allocation, ages: &[i64]) -> Allocation {
    let events = ages.iter().map(|age| RescheduleEvent { reschedule_time: NOW - age, ..Default::default() });
    a.reschedule_tracker = Some(Box::new(RescheduleTracker { events: Some(events.collect()), ..Default::default() }));
    a
}

#[test]
fn the_boundary_table() {
    let unlimited = || Some(ReschedulePolicy { unlimited: true, ..Default::default() });
    let failed = || alloc("a", ClientStatus::Failed, DesiredStatus::Run);
    let at = |mut a: Allocation, t: i64| {
        a.modify_time = t;
        a
    };
    let replaced = |mut a: Allocation| {
        a.next_allocation = "b".into();
        a
    };
    for (line, a, job, cutoff, want) in [
        (1, alloc("a", ClientStatus::Pending, DesiredStatus::Run), job(JobStatus::Dead, true, None), NOW, false),
        (2, alloc("a", ClientStatus::Running, DesiredStatus::Stop), job(JobStatus::Dead, false, None), NOW, false),
        (
            3,
            at(alloc("a", ClientStatus::Complete, DesiredStatus::Run), NOW),
            job(JobStatus::Running, false, None),
            NOW,
            true,
        ),
        (
            4,
            at(alloc("a", ClientStatus::Complete, DesiredStatus::Stop), NOW),
            job(JobStatus::Running, false, None),
            NOW - HOUR,
            false,
        ),
        (5, failed(), job(JobStatus::Running, false, None), NOW, true),
        (6, failed(), job(JobStatus::Running, false, policy(0, 0)), NOW, true),
        (7, failed(), job(JobStatus::Running, false, policy(1, MINUTE)), NOW, false),
        (8, with_events(failed(), &[3 * MINUTE]), job(JobStatus::Running, false, policy(2, 30 * MINUTE)), NOW, false),
        (
            9,
            with_events(failed(), &[60 * MINUTE, 45 * MINUTE]),
            job(JobStatus::Running, false, policy(5, 30 * MINUTE)),
            NOW,
            true,
        ),
        (
            10,
            replaced(with_events(failed(), &[3 * MINUTE])),
            job(JobStatus::Running, false, policy(5, 30 * MINUTE)),
            NOW,
            true,
        ),
        (11, with_events(failed(), &[3 * MINUTE]), job(JobStatus::Running, false, unlimited()), NOW, false),
        (12, with_events(failed(), &[3 * MINUTE]), job(JobStatus::Running, true, policy(5, 30 * MINUTE)), NOW, true),
        (13, with_events(failed(), &[3 * MINUTE]), job(JobStatus::Dead, false, policy(5, 30 * MINUTE)), NOW, true),
        (14, alloc("a", ClientStatus::Lost, DesiredStatus::Stop), job(JobStatus::Dead, false, None), NOW, true),
        (
            15,
            alloc("a", ClientStatus::Failed, DesiredStatus::Stop),
            job(JobStatus::Running, false, unlimited()),
            NOW,
            true,
        ),
        (16, alloc("a", ClientStatus::Unknown, DesiredStatus::Run), job(JobStatus::Running, false, None), NOW, false),
    ] {
        let age = Age { setting: GcSetting::EvalGcThreshold, nanos: NOW - cutoff };
        assert_eq!(is_due(&rules::alloc(&a, Some(&job), age), NOW), want, "line {line}");
    }
}

fn store(job: Job, eval: Evaluation, allocs: Vec<Allocation>) -> StateStore {
    let mut s = StateStore::new();
    s.put_job(Arc::new(job));
    s.put_eval(Arc::new(eval));
    s.put_allocs(allocs.into_iter().map(Arc::new).collect());
    s
}

fn eval(r#type: JobType, age: i64) -> Evaluation {
    Evaluation {
        id: "e1".into(),
        namespace: "default".into(),
        job_id: "web".into(),
        r#type,
        status: EvalStatus::Complete,
        modify_time: NOW - age,
        ..Default::default()
    }
}

fn aged(mut a: Allocation, age: i64) -> Allocation {
    a.modify_time = NOW - age;
    a
}

fn run(s: &StateStore) -> (Vec<String>, Vec<String>) {
    let c = select::evals(s, &defaults(), NOW, &JobKeys::new());
    (c.evals, c.allocs)
}

fn ids(list: &[&str]) -> Vec<String> {
    list.iter().map(|s| s.to_string()).collect()
}

#[test]
fn example_1_and_2_evaluations_go_with_their_allocations() {
    let web = || job(JobStatus::Running, false, None);
    let old = || aged(alloc("a", ClientStatus::Complete, DesiredStatus::Stop), 61 * MINUTE);
    assert_eq!(run(&store(web(), eval(JobType::Service, HOUR), vec![old()])), (ids(&["e1"]), ids(&["a"])));
    let new = aged(alloc("a", ClientStatus::Complete, DesiredStatus::Stop), 59 * MINUTE);
    assert_eq!(run(&store(web(), eval(JobType::Service, HOUR), vec![new])), (vec![], vec![]));
    let runs = aged(alloc("b", ClientStatus::Running, DesiredStatus::Run), 2 * HOUR);
    assert_eq!(run(&store(web(), eval(JobType::Service, HOUR), vec![old(), runs])), (vec![], ids(&["a"])));
}

#[test]
fn example_4_the_current_version_of_a_batch_job_is_retained() {
    let batch = Job { r#type: JobType::Batch, job_modify_index: 100, ..job(JobStatus::Running, false, None) };
    let at = |id: &str, index: u64| Allocation {
        create_index: index,
        ..aged(alloc(id, ClientStatus::Complete, DesiredStatus::Run), 25 * HOUR)
    };
    let both = store(batch.clone(), eval(JobType::Batch, 25 * HOUR), vec![at("a", 90), at("b", 120)]);
    assert_eq!(run(&both), (vec![], ids(&["a"])));
    let first = store(batch.clone(), eval(JobType::Batch, 25 * HOUR), vec![at("a", 90)]);
    assert_eq!(run(&first), (ids(&["e1"]), ids(&["a"])));
    assert_eq!(run(&store(batch.clone(), eval(JobType::Batch, 25 * HOUR), vec![])), (ids(&["e1"]), vec![]));
    assert_eq!(run(&store(batch, eval(JobType::Batch, 23 * HOUR), vec![])), (vec![], vec![]));
}

#[test]
fn finished_jobs_are_collected() {
    let over = |j: Job, age: i64| {
        let s = store(Job { submit_time: NOW - age, ..j }, eval(JobType::Service, age), vec![]);
        select::jobs(&s, &defaults(), NOW).jobs.len() == 1
    };
    let tag = Some(JobVersionTag { name: "keep".into(), ..Default::default() });
    assert!(over(job(JobStatus::Dead, true, None), 4 * HOUR));
    assert!(!over(job(JobStatus::Dead, true, None), 3 * HOUR));
    assert!(!over(job(JobStatus::Dead, false, None), 5 * HOUR), "a service job that was not stopped");
    assert!(over(Job { r#type: JobType::Batch, ..job(JobStatus::Dead, false, None) }, 5 * HOUR));
    assert!(!over(Job { version_tag: tag, ..job(JobStatus::Dead, true, None) }, 5 * HOUR));
    let cron = PeriodicConfig { enabled: true, ..Default::default() };
    assert!(!over(Job { periodic: Some(cron.clone()), ..job(JobStatus::Running, false, None) }, 5 * HOUR));
    assert!(over(Job { periodic: Some(cron), ..job(JobStatus::Dead, true, None) }, 5 * HOUR));
}

#[test]
fn entries_hold_allocations_first() {
    let many = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
    let sizes: Vec<_> = batches(Collected { evals: many(5000), allocs: many(10_000) }, 7281)
        .iter()
        .map(|c| (c.allocs.len(), c.evals.len()))
        .collect();
    assert_eq!(sizes, [(7281, 0), (2719, 4562), (0, 438)]);
}

#[test]
fn nodes_and_deployments() {
    let mut s = StateStore::new();
    let node = |id: &str, status, age: i64| {
        Arc::new(Node { id: id.into(), status, status_updated_at: (NOW - age) / SECOND, ..Default::default() })
    };
    s.put_node(node("n1", NodeStatus::Down, 24 * HOUR));
    s.put_node(node("n2", NodeStatus::Down, 23 * HOUR));
    s.put_node(node("n3", NodeStatus::Disconnected, 48 * HOUR));
    s.put_node(node("n4", NodeStatus::Down, 48 * HOUR));
    s.put_allocs(vec![Arc::new(Allocation {
        node_id: "n4".into(),
        deployment_id: "d2".into(),
        ..alloc("x", ClientStatus::Running, DesiredStatus::Run)
    })]);
    assert_eq!(select::nodes(&s, &defaults(), NOW), ["n1"]);
    for (id, status, age) in [
        ("d1", DeploymentStatus::Successful, 2 * HOUR),
        ("d2", DeploymentStatus::Failed, 2 * HOUR),
        ("d3", DeploymentStatus::Running, 2 * HOUR),
    ] {
        let d = Deployment { id: id.into(), status, modify_time: NOW - age, ..Default::default() };
        s.put_deployment(Arc::new(d));
    }
    assert_eq!(select::deployments(&s, &defaults(), NOW, &JobKeys::new()), ["d1"]);
}

fn key(s: &mut StateStore, id: &str, state: RootKeyState, created: i64, publish: i64) {
    let meta = RootKey { key_id: id.into(), state, create_time: created, publish_time: publish, ..Default::default() };
    s.put_root_key(Arc::new(WrappedRootKey { meta, ..Default::default() }));
}

#[test]
fn keys_are_rotated_in_time() {
    let next = |s: &StateStore, minute: i64| keys::rotation(s, NOW + minute * MINUTE, HOUR);
    let mut s = StateStore::new();
    assert_eq!(next(&s, 0), Some(Step::NoActiveKey));
    key(&mut s, "a", RootKeyState::Active, NOW, 0);
    assert_eq!((next(&s, 20), next(&s, 30)), (None, Some(Step::Prepublish(NOW + HOUR))));
    assert_eq!(next(&s, 90), Some(Step::Prepublish(NOW + HOUR)), "late ticks do not shift it");
    key(&mut s, "b", RootKeyState::Prepublished, NOW + 30 * MINUTE, NOW + HOUR);
    assert_eq!((next(&s, 59), next(&s, 60)), (None, Some(Step::Activate("b".into()))));
    key(&mut s, "0", RootKeyState::Prepublished, NOW, NOW + 2 * HOUR);
    assert_eq!(next(&s, 150), Some(Step::Activate("b".into())), "the earliest first");
}

#[test]
fn old_keys_are_collected_when_unused() {
    let mut s = StateStore::new();
    for (id, state) in [
        ("a", RootKeyState::Inactive),
        ("b", RootKeyState::Deprecated),
        ("c", RootKeyState::Active),
        ("d", RootKeyState::Rekeying),
        ("e", RootKeyState::Inactive),
    ] {
        key(&mut s, id, state, NOW - 2 * HOUR, 0);
    }
    key(&mut s, "f", RootKeyState::Inactive, NOW - 2 * HOUR + 1, 0);
    let gc = GcSettings { key_rotation: HOUR, key_threshold: HOUR, ..GcSettings::default() };
    let thresholds = Thresholds::configured(&gc, &AclSettings::default());
    let found = |s: &StateStore| select::keys(s, &thresholds, NOW);
    assert_eq!(found(&s), ["a", "b", "e"]);
    let mut signed =
        Allocation { signing_key_id: "a".into(), ..alloc("x", ClientStatus::Running, DesiredStatus::Stop) };
    s.put_allocs(vec![Arc::new(signed.clone())]);
    s.put_node(Arc::new(Node { id: "n".into(), identity_signing_key_id: "b".into(), ..Default::default() }));
    assert_eq!(found(&s), ["e"]);
    signed.client_status = ClientStatus::Complete;
    s.put_allocs(vec![Arc::new(signed)]);
    assert_eq!(found(&s), ["a", "e"]);
}

#[test]
fn variables_are_rekeyed_at_an_interval_of_their_own() {
    let gc = GcSettings { job_interval: 7 * MINUTE, key_interval: HOUR, ..GcSettings::default() };
    let of = |name: &str| CoreJob::of_name(name).and_then(|kind| kind.interval(&gc));
    let (rekey, rotate) = (of("variables-rekey"), of("root-key-rotate-gc"));
    assert_eq!((rekey, rotate, of("job-gc")), (Some(10 * MINUTE), Some(HOUR), Some(7 * MINUTE)));
    assert_eq!((of("eval-gc"), of("node-gc"), of("deployment-gc")), (Some(EVERY), Some(EVERY), Some(EVERY)));
    assert_eq!((of("force-gc"), of("csi-gc")), (None, None));
}

#[test]
fn expired_tokens_go_when_they_are_old_enough() {
    let now = 1_000 * HOUR;
    let mut store = StateStore::new();
    let mut put = |id: &str, global: bool, created: i64, expires: Option<i64>| {
        store.put_acl_token(Arc::new(AclToken {
            accessor_id: id.into(),
            secret_id: SecretString::new(id),
            global,
            create_time: Time::from_unix_nanos(created),
            expiration_time: expires.map(Time::from_unix_nanos),
            ..Default::default()
        }));
    };
    put("for-ever", false, 0, None);
    put("old", false, now - 2 * HOUR, Some(now - 1));
    put("boundary", false, now - HOUR, Some(now - 1));
    put("young", false, now - HOUR + 1, Some(now - 1));
    put("equal", false, now - 2 * HOUR, Some(now));
    put("global", true, now - 2 * HOUR, Some(now - HOUR));
    assert_eq!(select::tokens(&store, &defaults(), now, false), ["boundary", "old"]);
    assert_eq!(select::tokens(&store, &defaults(), now, true), ["global"]);
    let elsewhere = Thresholds { authoritative: false, ..defaults() };
    assert_eq!(select::tokens(&store, &elsewhere, now, true), [""; 0]);
    assert_eq!(select::tokens(&store, &Thresholds { acl: false, ..defaults() }, now, false), [""; 0]);
}
