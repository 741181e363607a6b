//! The worked examples of `docs/spec/garbage-collection.md §17` about what a deletion entails.

use super::*;
use crate::endpoints::dispatch;
use crate::endpoints::forced_gc;
use crate::endpoints::job_changes::{self, Stop};
use crate::fsm::{Limits, apply};
use crate::jobs::dispatch::DispatchRequest;
use crate::tests::{self, Dir, eventually, put_job, start};
use encamp_model::gc::GcKind;
use encamp_ops::{JobDeregister, JobRegister, NodeChange, NodeRegister, NodeStatusChange, Operation, Reply};
use std::time::Duration;

/// Longest wait for a run.
const RUN: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn example_10_a_token_is_free_when_the_child_is_collected() {
    let dir = Dir::new();
    let server = start(&dir, "10000000-0000-0000-0000-000000000010").await;
    let parent = Job {
        r#type: JobType::Batch,
        parameterized_job: Some(ParameterizedJobConfig { payload: "optional".into(), ..Default::default() }),
        ..tests::job("parent", 1)
    };
    put_job(&server, parent).await;
    let request = DispatchRequest { idempotency_token: "once".into(), ..Default::default() };
    let dispatch = async || dispatch::dispatch(&server, "default", "parent", &request, false).await.unwrap();
    let first = dispatch().await.dispatched_job_id;
    assert_eq!(dispatch().await.dispatched_job_id, first, "the child is there");
    eventually("the evaluations", || tests::settled(&server)).await;
    job_changes::deregister(&server, "default", &first, Stop::default()).await.unwrap();
    eventually("the evaluations", || tests::settled(&server)).await;
    let gone = || server.snapshot().state().job("default", &first).is_none();
    forced_gc::force_and_wait(&server, RUN).await.unwrap();
    assert!(gone(), "the child is collected");
    let second = dispatch().await.dispatched_job_id;
    assert!(second != first && server.snapshot().state().job("default", &second).is_some(), "{second}");
    server.shutdown().await;
}

#[test]
fn example_11_a_purge_leaves_evaluations_alone() {
    let mut s = StateStore::new();
    let mut index = 10;
    let mut write = |s: &mut StateStore, op: Operation| {
        index += 1;
        let applied = apply(s, index, &op, Limits::default());
        assert!(!matches!(applied.reply, Reply::Refused(_)), "{:?}", applied.reply);
    };
    let register = |priority| {
        let job = Arc::new(Job { priority, ..job(JobStatus::Pending, false, None) });
        Operation::JobRegister(Box::new(JobRegister { job, eval: None, submission: None, enforce_index: None, now: 5 }))
    };
    write(&mut s, register(50));
    write(&mut s, register(60));
    let target = [("Namespace", "default"), ("Job", "web"), ("Group", "g")];
    let target = target.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    s.put_scaling_policy(Arc::new(ScalingPolicy { id: "policy".into(), target, ..Default::default() }));
    let deployment = Deployment {
        id: "deployment".into(),
        namespace: "default".into(),
        job_id: "web".into(),
        ..Deployment::default()
    };
    s.put_deployment(Arc::new(deployment));
    let waiting = Evaluation { id: "waiting".into(), status: EvalStatus::Pending, ..eval(JobType::Service, HOUR) };
    for e in [eval(JobType::Service, HOUR), waiting] {
        s.put_eval(Arc::new(e));
    }
    let (complete, running) = (ClientStatus::Complete, ClientStatus::Running);
    let allocs = [("a", complete.clone()), ("b", complete), ("c", running)];
    s.put_allocs(allocs.map(|(id, client)| Arc::new(alloc(id, client, DesiredStatus::Run))).into());
    let versions = |s: &StateStore| [0, 1].map(|v| s.state().job_version("default", "web", v).is_some());
    assert_eq!((versions(&s), s.alloc_count()), ([true; 2], 3));

    let deregister = Evaluation { id: "deregister".into(), status: EvalStatus::Pending, ..eval(JobType::Service, 0) };
    let purge = JobDeregister {
        job: JobKey::new("default", "web"),
        purge: true,
        no_shutdown_delay: false,
        eval: Some(deregister),
        submit_time: 20,
    };
    write(&mut s, Operation::JobDeregister(Box::new(purge)));
    assert!(s.state().job("default", "web").is_none() && s.summary("default", "web").is_none());
    assert_eq!((versions(&s), s.alloc_count()), ([false; 2], 0));
    assert_eq!((s.deployments_by_create().count(), s.scaling_policies().count()), (0, 0));
    let status_of = |id: &str| s.eval(id).map(|e| (e.status.clone(), e.status_description.clone()));
    assert_eq!(status_of("e1"), Some((EvalStatus::Complete, "".into())));
    assert_eq!(status_of("waiting"), Some((EvalStatus::Complete, "job web deleted".into())));
    assert_eq!(status_of("deregister"), Some((EvalStatus::Pending, "".into())));
}

#[tokio::test(flavor = "multi_thread")]
async fn example_14_the_end_of_a_node_evaluates_system_jobs() {
    let dir = Dir::new();
    let server = start(&dir, "10000000-0000-0000-0000-000000000014").await;
    for (id, datacenter) in [("y", "dc1"), ("z", "dc2")] {
        let r#type = JobType::System;
        put_job(&server, Job { r#type, datacenters: vec![datacenter.into()], ..tests::job(id, 1) }).await;
    }
    let change = |change| Operation::NodeChange(Box::new(NodeChange { change, seed: 7, now: 9 }));
    let node = Node { node_pool: "default".into(), ..tests::node("n1") };
    let register = Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: false, now: 1 }));
    server.commit(change(register)).await.unwrap();
    let (status, updated_at) = (NodeStatus::Down, 2);
    let down = NodeStatusChange { id: "n1".into(), status, event: None, identity_key_id: String::new(), updated_at };
    server.commit(change(Operation::NodeStatus(down))).await.unwrap();
    let before = server.snapshot().latest_index();
    let report = forced_gc::force_and_wait(&server, RUN).await.unwrap();
    let nodes = report.collected.iter().find(|c| c.kind == GcKind::Node).map(|c| c.count);
    assert!(nodes == Some(1) && server.snapshot().state().node("n1").is_none());
    let snapshot = server.snapshot();
    let made = snapshot.evals_by_create().filter(|e| e.create_index > before && e.node_id == "n1");
    let made: Vec<_> = made.map(|e| (e.job_id.as_str(), e.triggered_by.clone())).collect();
    assert_eq!(made, [("y", EvalTrigger::NodeUpdate)]);
    server.shutdown().await;
}
