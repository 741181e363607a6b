//! The worked examples of `docs/spec/garbage-collection.md §17` that the boundary table does not contain. Examples 10,
//! 11 and 14 are in `cascade`; 18 and 19 run on a server.

use super::*;
use crate::endpoints::forced_gc;
use crate::evals::broker::{Delivery, QueueName};
use crate::evals::core_job::core_eval;
use crate::leadership::gc::decide::View;
use crate::leadership::gc::run::run as run_core;
use crate::leadership::gc::triggers::force;
use crate::tests::{self, Dir, eventually, start};
use encamp_model::gc::{GcKind, GcReason};
use encamp_ops::Operation;
use std::time::Duration;

/// Why an object is kept, or that it is deleted.
fn reason(s: &StateStore, id: &str) -> Option<GcReason> {
    let view = View { store: s, visible: GcKind::ALL, thresholds: defaults(), now: NOW };
    let mut found = None;
    view.all(|name, decision| {
        if name.id == id {
            found = Some(decision.shown().reason);
        }
    });
    found.expect("the object is there")
}

#[test]
fn example_3_a_failed_allocation_waits_for_its_replacement() {
    let web = || job(JobStatus::Running, false, policy(1, MINUTE));
    let failed = || aged(alloc("a", ClientStatus::Failed, DesiredStatus::Run), 2 * HOUR);
    let kept = store(web(), eval(JobType::Service, 2 * HOUR), vec![failed()]);
    assert_eq!((run(&kept), reason(&kept, "a")), ((vec![], vec![]), Some(GcReason::Reschedulable)));
    let replaced = Allocation { next_allocation: "b".into(), ..failed() };
    let gone = store(web(), eval(JobType::Service, 2 * HOUR), vec![replaced]);
    assert_eq!(run(&gone), (ids(&["e1"]), ids(&["a"])));
}

/// A dead batch job with one evaluation and one allocation.
fn finished(submitted: i64, stop: bool) -> StateStore {
    let batch = Job { r#type: JobType::Batch, submit_time: NOW - submitted, ..job(JobStatus::Dead, stop, None) };
    let a = aged(alloc("a", ClientStatus::Complete, DesiredStatus::Run), 270 * MINUTE);
    store(batch, eval(JobType::Batch, 270 * MINUTE), vec![a])
}

#[test]
fn examples_5_and_6_a_finished_batch_job_goes_with_all_it_has() {
    let s = finished(5 * HOUR, false);
    assert_eq!(run(&s), (vec![], vec![]), "protected, and younger than 24 hours");
    let found = select::jobs(&s, &defaults(), NOW);
    assert_eq!((found.jobs.len(), &found.rest.evals, &found.rest.allocs), (1, &ids(&["e1"]), &ids(&["a"])));
    assert_eq!(reason(&s, "a"), None);
    let young = finished(3 * HOUR, false);
    assert!(select::jobs(&young, &defaults(), NOW).jobs.is_empty());
    assert_eq!((reason(&young, "a"), reason(&young, "e1")), (Some(GcReason::TooYoung), Some(GcReason::TooYoung)));
    // Stopped two hours ago: four hours count from the stop.
    let stopped = finished(2 * HOUR, true);
    assert!(select::jobs(&stopped, &defaults(), NOW).jobs.is_empty());
    assert_eq!(select::jobs(&stopped, &defaults(), NOW + 2 * HOUR).jobs.len(), 1);
}

#[test]
fn example_7_one_young_evaluation_keeps_the_job() {
    let over = Job { submit_time: NOW - 10 * HOUR, ..job(JobStatus::Dead, true, None) };
    let mut s = store(over, eval(JobType::Service, 9 * HOUR), vec![]);
    assert_eq!(select::jobs(&s, &defaults(), NOW).rest.evals, ids(&["e1"]));
    s.put_eval(Arc::new(Evaluation { id: "e2".into(), ..eval(JobType::Service, HOUR) }));
    let found = select::jobs(&s, &defaults(), NOW);
    assert!(found.jobs.is_empty() && found.rest.is_empty(), "nothing of it");
    let view = View { store: &s, visible: GcKind::ALL, thresholds: defaults(), now: NOW };
    let decision = view.job(s.state().job_entry("default", "web").unwrap()).shown();
    let age = decision.age.expect("it only lacks age");
    assert_eq!(age.from, Time::from_unix_nanos(NOW + 3 * HOUR));
    assert_eq!(age.of.map(|of| of.id).as_deref(), Some("e2"));
}

#[test]
fn example_8_a_tag_keeps_the_job_but_not_its_evaluations() {
    let over = |version, tag: Option<&str>| {
        let version_tag = tag.map(|name| JobVersionTag { name: name.into(), ..JobVersionTag::default() });
        Job { version, version_tag, submit_time: NOW - 9 * HOUR, ..job(JobStatus::Dead, true, None) }
    };
    let mut s = store(over(0, Some("keep")), eval(JobType::Service, 9 * HOUR), vec![]);
    s.put_job(Arc::new(over(3, None)));
    assert!(select::jobs(&s, &defaults(), NOW).jobs.is_empty());
    assert_eq!((reason(&s, "web"), reason(&s, "e1")), (Some(GcReason::VersionTagged), None));
    assert_eq!(run(&s).0, ids(&["e1"]));
    s.put_job(Arc::new(over(4, Some("now"))));
    assert_eq!(reason(&s, "web"), Some(GcReason::CurrentVersionTagged));
}

#[test]
fn example_9_periodic_jobs_and_their_children() {
    let cron = PeriodicConfig { enabled: true, ..PeriodicConfig::default() };
    let parent = Job { periodic: Some(cron), submit_time: NOW - 5 * HOUR, ..job(JobStatus::Running, false, None) };
    let child = |status| Job {
        id: "web/periodic-1".into(),
        parent_id: "web".into(),
        r#type: JobType::Batch,
        submit_time: NOW - 5 * HOUR,
        ..job(status, false, None)
    };
    let mut s = StateStore::new();
    s.put_job(Arc::new(parent.clone()));
    s.put_job(Arc::new(child(JobStatus::Dead)));
    let found =
        |s: &StateStore| select::jobs(s, &defaults(), NOW).jobs.iter().map(|j| j.id.clone()).collect::<Vec<_>>();
    assert_eq!((found(&s), reason(&s, "web")), (ids(&["web/periodic-1"]), Some(GcReason::JobLaunches)));
    s.put_job(Arc::new(Job { stop: true, status: JobStatus::Dead, ..parent }));
    s.put_job(Arc::new(child(JobStatus::Running)));
    assert_eq!((found(&s), reason(&s, "web/periodic-1")), (ids(&["web"]), Some(GcReason::JobNotDead)));
}

#[test]
fn example_12_jobs_and_deployments_go_in_batches() {
    let five = [1, 2, 3, 4, 5];
    assert_eq!(five.chunks(2).map(<[i32]>::len).collect::<Vec<_>>(), [2, 2, 1]);
    let c = Collected { evals: ids(&["x", "y", "z"]), allocs: ids(&["a", "b", "c"]) };
    let entries: Vec<String> = batches(c, 2).into_iter().map(|c| [c.allocs, c.evals].concat().concat()).collect();
    assert_eq!(entries, ["ab", "cx", "yz"]);
}

#[test]
fn example_13_nodes() {
    let down = |id: &str, status, age: i64| {
        Arc::new(Node { id: id.into(), status, status_updated_at: (NOW - age) / SECOND, ..Node::default() })
    };
    let mut s = StateStore::new();
    s.put_node(down("empty", NodeStatus::Down, 24 * HOUR));
    s.put_node(down("stuck", NodeStatus::Down, 72 * HOUR));
    s.put_node(down("alive", NodeStatus::Ready, 72 * HOUR));
    s.put_node(down("touched", NodeStatus::Down, HOUR));
    let unknown = alloc("a", ClientStatus::Unknown, DesiredStatus::Run);
    s.put_allocs(vec![Arc::new(Allocation { node_id: "stuck".into(), ..unknown })]);
    assert_eq!(select::nodes(&s, &defaults(), NOW), ["empty"]);
    assert_eq!(select::nodes(&s, &defaults(), NOW + 23 * HOUR), ["empty", "touched"]);
    assert_eq!(reason(&s, "stuck"), Some(GcReason::AllocationOfNode));
    assert_eq!(reason(&s, "alive"), Some(GcReason::NodeNotDown));
}

#[test]
fn example_15_deployments() {
    let mut s = StateStore::new();
    for (id, status) in [("broken", DeploymentStatus::Failed), ("paused", DeploymentStatus::Paused)] {
        let modify_time = NOW - 2 * HOUR;
        s.put_deployment(Arc::new(Deployment { id: id.into(), status, modify_time, ..Deployment::default() }));
    }
    let of = |status| {
        let a = alloc("a", status, DesiredStatus::Run);
        vec![Arc::new(Allocation { deployment_id: "broken".into(), ..a })]
    };
    s.put_allocs(of(ClientStatus::Running));
    assert_eq!(reason(&s, "broken"), Some(GcReason::AllocationOfDeployment));
    s.put_allocs(of(ClientStatus::Complete));
    assert_eq!((reason(&s, "broken"), reason(&s, "paused")), (None, Some(GcReason::DeploymentActive)));
}

#[test]
fn example_16_a_run_deletes_at_most_4096_tokens() {
    let mut s = StateStore::new();
    for i in 0..5000 {
        s.put_acl_token(Arc::new(AclToken {
            accessor_id: format!("token-{i}"),
            secret_id: SecretString::new(format!("secret-{i}")),
            create_time: Time::from_unix_nanos(NOW - 2 * HOUR),
            expiration_time: Some(Time::from_unix_nanos(NOW - HOUR + i)),
            ..AclToken::default()
        }));
    }
    let first = select::tokens(&s, &defaults(), NOW, false);
    assert_eq!(first.len(), 4096);
    assert_eq!((reason(&s, "token-4095"), reason(&s, "token-4096")), (None, Some(GcReason::NextRun)));
    for id in first {
        s.remove_acl_token(&id);
    }
    assert_eq!(select::tokens(&s, &defaults(), NOW, false).len(), 904);
}

#[test]
fn example_17_a_variable_keeps_its_key() {
    let mut s = StateStore::new();
    key(&mut s, "active", RootKeyState::Active, NOW, 0);
    key(&mut s, "old", RootKeyState::Inactive, NOW - 800 * HOUR, 0);
    let variable = |key_id: &str| VariableEncrypted {
        namespace: "default".into(),
        path: "app".into(),
        key_id: key_id.into(),
        ..VariableEncrypted::default()
    };
    s.put_variable(Arc::new(variable("old")));
    assert_eq!((reason(&s, "old"), reason(&s, "active")), (Some(GcReason::KeyOfVariable), Some(GcReason::KeyActive)));
    s.put_variable(Arc::new(variable("active")));
    assert_eq!(reason(&s, "old"), None);
    // A rotation comes first.
    key(&mut s, "active", RootKeyState::Active, NOW - 360 * HOUR, 0);
    assert_eq!(reason(&s, "old"), Some(GcReason::RotationFirst));
}

#[tokio::test(flavor = "multi_thread")]
async fn example_18_a_forced_run_reports_what_it_deleted() {
    let dir = Dir::new();
    let server = start(&dir, "10000000-0000-0000-0000-000000000018").await;
    let over = |id: &str, client| {
        let batch = Job { id: id.into(), r#type: JobType::Batch, ..job(JobStatus::Pending, false, None) };
        let register = encamp_ops::JobRegister {
            job: Arc::new(batch),
            eval: None,
            submission: None,
            enforce_index: None,
            now: NOW,
        };
        let eval = Evaluation { id: format!("eval-{id}").into(), job_id: id.into(), ..eval(JobType::Batch, HOUR) };
        let a = Allocation {
            job_id: id.into(),
            eval_id: Text::from(&eval.id),
            ..alloc(&format!("alloc-{id}"), client, DesiredStatus::Stop)
        };
        (register, eval, a)
    };
    let mut restored = StateStore::new();
    for (id, client) in [("done", ClientStatus::Complete), ("runs", ClientStatus::Running)] {
        let (register, eval, a) = over(id, client);
        let stopped = Job { stop: true, status: JobStatus::Dead, ..Job::clone(&register.job) };
        restored.put_job(Arc::new(stopped));
        restored.put_eval(Arc::new(eval));
        restored.put_allocs(vec![Arc::new(a)]);
    }
    let snapshot = restored.snapshot();
    let dry = {
        let view = View { store: &snapshot, visible: GcKind::ALL, thresholds: defaults().forced(), now: NOW };
        crate::leadership::gc::plan::plan(&view, 0)
    };
    // The rules decide on this state; the objects are not in the log, so the state machine ignores their deletion.
    let register = |id: &str| Operation::JobRegister(Box::new(over(id, ClientStatus::Complete).0));
    server.commit(register("done")).await.unwrap();
    let (core, queue) = (core_eval(CoreJob::Forced, 1), QueueName::Scheduler(JobType::Core));
    let delivery = Delivery { eval: Arc::new(core), token: "t".into(), queue, deliveries: 1, wait: None };
    let report = run_core(&server, &delivery, &snapshot).await.unwrap();
    for (counted, planned) in report.collected.iter().zip(&dry.kinds) {
        let key = matches!(planned.kind, GcKind::RootKey | GcKind::OneTimeToken);
        assert!(key || counted.count == planned.collected_count(), "{:?}: {}", planned.kind, counted.count);
    }
    let of = |kind| report.collected.iter().find(|c| c.kind == kind).map_or(0, |c| c.count);
    assert_eq!((of(GcKind::Job), of(GcKind::Evaluation), of(GcKind::Allocation)), (1, 1, 1));
    assert!(server.snapshot().state().job("default", "done").is_none());
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn example_19_a_paused_broker_and_missing_workers_are_told_at_once() {
    let dir = Dir::new();
    let server = start(&dir, "10000000-0000-0000-0000-000000000019").await;
    let wait = |seconds| forced_gc::force_and_wait(&server, Duration::from_secs(seconds));
    let report = wait(30).await.unwrap();
    assert_eq!(report.collected.len(), GcKind::ALL.len());
    let again = wait(30).await.unwrap();
    assert!(again.collected.iter().all(|c| c.count == 0), "{again:?}");
    let pause = |pause_eval_broker| Operation::SchedulerConfig {
        config: SchedulerConfiguration { pause_eval_broker, ..SchedulerConfiguration::default() },
        cas: None,
    };
    server.commit(pause(true)).await.unwrap();
    crate::leadership::leader::evaluate_unless_paused(&server);
    let message = wait(30).await.unwrap_err().message;
    assert!(message.contains("paused"), "{message}");
    force(&server);
    server.commit(pause(false)).await.unwrap();
    crate::leadership::leader::evaluate_unless_paused(&server);
    assert_eq!(server.queues().broker().stats().ready, 0, "nothing is caught up");
    // Several callers at once: each gets the report of a run that saw the state of its request.
    let all = futures_util::future::join_all((0..5).map(|_| wait(30))).await;
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    server.set_workers(0, vec![JobType::Core]).unwrap();
    let message = wait(30).await.unwrap_err().message;
    assert!(message.contains("num_schedulers"), "{message}");
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_evaluations_do_not_wait_for_a_collection() {
    let dir = Dir::new();
    let server = start(&dir, "10000000-0000-0000-0000-000000000020").await;
    server.set_workers(1, JobType::ALL.to_vec()).unwrap();
    for part in 0..10 {
        let ended = (0..2_000).map(|n| Evaluation {
            id: format!("ended-{part}-{n}").into(),
            job_id: format!("job-{part}-{n}").into(),
            status: EvalStatus::Complete,
            ..eval(JobType::Service, 2 * HOUR)
        });
        server.commit(Operation::EvalUpdate { evals: ended.collect() }).await.unwrap();
    }
    let core =
        || server.queues().broker().stats().by_queue.get(&QueueName::Scheduler(JobType::Core)).map(|q| q.unacked);
    force(&server);
    eventually("the collection", || core() == Some(1)).await;
    tests::register(&server, tests::job("meanwhile", 1)).await;
    let evaluated = || server.snapshot().evals_of_job("default", "meanwhile").any(|e| e.status != EvalStatus::Pending);
    eventually("the evaluation", evaluated).await;
    assert_eq!(core(), Some(1), "the collection had ended before the evaluation");
    eventually("the end of the collection", || core() == Some(0)).await;
    let left = server.snapshot().evals_by_create().filter(|e| e.id.starts_with("ended-")).count();
    assert_eq!(left, 0);
    server.shutdown().await;
}
