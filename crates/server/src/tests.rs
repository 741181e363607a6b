//! The full pipeline in one process: register, evaluate, plan, apply.

use std::time::Duration;

use crate::Server;
use crate::endpoints::{identity, operator};
use crate::nodes::node_rpc;
use crate::settings::Settings;
use crate::storage::store::Store;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::{JobRegister, Operation, Reply};
use encamp_telemetry::Metrics;

/// A directory that is removed after the test.
pub(crate) struct Dir(pub(crate) std::path::PathBuf);

impl Dir {
    pub(crate) fn new() -> Dir {
        let dir = std::env::temp_dir().join(format!("encamp-server-{}", ids::uuid()));
        std::fs::create_dir_all(&dir).unwrap();
        Dir(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) async fn start(dir: &Dir, id: &str) -> Server {
    let settings = Settings { num_schedulers: 2, ..Settings::new(id, "server-1", dir.0.clone()) };
    let server = Server::start(settings, Metrics::default()).await.unwrap();
    server.wait_ready().await.unwrap();
    assert!(server.keyring().wait_active(Duration::from_secs(60)).await);
    server
}

/// The text with which an operation was refused.
pub(crate) fn refusal(reply: Reply) -> String {
    match reply {
        Reply::Refused(refusal) => refusal.to_string(),
        done => panic!("{done:?}"),
    }
}

/// Waits until a condition holds, for at most ten seconds.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not happen");
}

pub(crate) fn node(id: &str) -> Node {
    let resources = NodeResources {
        processors: NodeProcessorResources {
            topology: Some(Topology { override_total_compute: 1000, ..Default::default() }),
        },
        memory: NodeMemoryResources { memory_mb: 1000 },
        disk: NodeDiskResources { disk_mb: 10_000 },
        networks: vec![NetworkResource { mode: "host".into(), ..Default::default() }],
        node_networks: Some(vec![NodeNetworkResource { mode: "host".into(), ..Default::default() }]),
        ..Default::default()
    };
    Node {
        id: id.into(),
        secret_id: "secret".into(),
        name: id.into(),
        datacenter: "dc1".into(),
        status: NodeStatus::Initializing,
        attributes: [("kernel.name".to_string(), "linux".to_string())].into(),
        drivers: [("mock_driver".to_string(), DriverInfo { detected: true, healthy: true, ..Default::default() })]
            .into(),
        node_resources: Some(resources.into()),
        ..Default::default()
    }
}

pub(crate) fn job(id: &str, count: i64) -> Job {
    let task = Task {
        name: "t".into(),
        driver: "mock_driver".into(),
        resources: Some(Resources { cpu: 100, memory_mb: 10, ..Default::default() }),
        ..Default::default()
    };
    Job {
        id: id.into(),
        name: id.into(),
        namespace: "default".into(),
        r#type: JobType::Service,
        priority: 50,
        node_pool: "default".into(),
        datacenters: vec!["*".into()],
        task_groups: vec![TaskGroup { name: "g".into(), count, tasks: vec![task], ..Default::default() }],
        ..Default::default()
    }
}

/// Writes a job without an evaluation.
pub(crate) async fn put_job(server: &Server, job: Job) {
    let r = JobRegister { job: job.into(), eval: None, submission: None, enforce_index: None, now: ids::now() };
    server.commit(Operation::JobRegister(Box::new(r))).await.unwrap();
}

pub(crate) async fn register(server: &Server, job: Job) -> u64 {
    let eval = Evaluation {
        id: ids::uuid().into(),
        namespace: Text::from(&job.namespace),
        job_id: Text::from(&job.id),
        r#type: job.r#type.clone(),
        priority: job.priority,
        triggered_by: EvalTrigger::JobRegister,
        status: EvalStatus::Pending,
        create_time: ids::now(),
        modify_time: ids::now(),
        ..Default::default()
    };
    let r = JobRegister { job: job.into(), eval: Some(eval), submission: None, enforce_index: None, now: ids::now() };
    server.commit(Operation::JobRegister(Box::new(r))).await.unwrap().0
}

pub(crate) fn running(server: &Server, job: &str) -> usize {
    server.snapshot().state().allocs_of_job("default", job).iter().filter(|a| !a.phase.terminal()).count()
}

pub(crate) fn settled(server: &Server) -> bool {
    server.snapshot().evals_by_create().all(|e| e.status != EvalStatus::Pending)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_are_placed_and_survive_a_restart() {
    let dir = Dir::new();
    let id = ids::uuid();
    let server = start(&dir, &id).await;
    let answer = node_rpc::register(&server, node("11111111-0000-4000-8000-000000000001"), "").await.unwrap();
    assert!(answer.heartbeat_ttl >= 10 * SECOND && !answer.signed_identity.is_empty());
    let n = "11111111-0000-4000-8000-000000000001";
    node_rpc::update_status(&server, n, &"secret".into(), "", NodeStatus::Ready).await.unwrap();
    register(&server, job("web", 3)).await;
    eventually("placement", || running(&server, "web") == 3 && settled(&server)).await;
    register(&server, job("big", 9)).await;
    eventually("a blocked evaluation", || {
        running(&server, "big") == 7 && server.snapshot().evals_by_create().any(|e| e.status == EvalStatus::Blocked)
    })
    .await;
    let (allocs, index) = node_rpc::client_allocs(&server, n, &"secret".into(), 0, Duration::ZERO).await.unwrap();
    assert_eq!(allocs.len(), 10);
    // Only the node itself may read its allocations.
    let ids: Vec<String> = allocs.keys().cloned().collect();
    let refusals = [
        node_rpc::client_allocs(&server, n, &"other".into(), 0, Duration::ZERO).await.map(drop),
        node_rpc::allocs(&server, n, &"other".into(), &ids, 0).await.map(drop),
        node_rpc::own_node(&server, n, &"other".into()).map(drop),
    ];
    for wrong in refusals.map(Result::unwrap_err) {
        assert_eq!((wrong.status(), wrong.message.as_str()), (403, "Permission denied"));
    }
    let odd = node_rpc::update_status(&server, n, &"secret".into(), "", "up".into()).await.unwrap_err();
    assert_eq!(odd.message, "invalid status for node");
    assert_eq!(node_rpc::allocs(&server, n, &"secret".into(), &ids, 0).await.unwrap().0.len(), 10);
    assert!(node_rpc::own_node(&server, n, &"secret".into()).unwrap().is_some_and(|own| own.id == n));
    let unknown = "22222222-0000-4000-8000-000000000001";
    assert!(node_rpc::own_node(&server, unknown, &"secret".into()).unwrap().is_none());
    // A finished allocation makes capacity available for a blocked evaluation.
    let done = server.snapshot().state().allocs_of_job("default", "web")[0].alloc.id.clone();
    let report = Allocation { id: done, client_status: ClientStatus::Complete, ..Default::default() };
    node_rpc::update_allocs(&server, n, &"secret".into(), vec![report]).await.unwrap();
    eventually("the unblocked placement", || running(&server, "big") == 8).await;
    let (_, later) =
        node_rpc::client_allocs(&server, n, &"secret".into(), index, Duration::from_secs(5)).await.unwrap();
    assert!(later > index);
    eventually("the evaluations to settle", || settled(&server)).await;
    let before = server.snapshot();
    server.shutdown().await;
    drop(server);

    let server = start(&dir, &id).await;
    let after = server.snapshot();
    assert_eq!(after.alloc_count(), before.alloc_count());
    assert_eq!(after.eval_count(), before.eval_count());
    let blocked = || server.queues().blocked().stats().blocked;
    eventually("blocked evaluations to be tracked again", || blocked() == 1).await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_reads_and_reports_on_its_own_allocations_alone() {
    let dir = Dir::new();
    let server = start(&dir, &ids::uuid()).await;
    let (one, other) = ("11111111-0000-4000-8000-000000000001", "22222222-0000-4000-8000-000000000001");
    node_rpc::register(&server, node(one), "").await.unwrap();
    node_rpc::update_status(&server, one, &"secret".into(), "", NodeStatus::Ready).await.unwrap();
    register(&server, job("web", 2)).await;
    eventually("placement", || running(&server, "web") == 2).await;
    node_rpc::register(&server, node(other), "").await.unwrap();
    node_rpc::update_status(&server, other, &"secret".into(), "", NodeStatus::Ready).await.unwrap();
    let alloc = server.snapshot().state().allocs_of_job("default", "web")[0].alloc.clone();
    let service = ServiceRegistration {
        id: "s".into(),
        service_name: "s".into(),
        namespace: "default".into(),
        node_id: one.into(),
        alloc_id: alloc.id.to_string(),
        ..Default::default()
    };
    node_rpc::upsert_services(&server, one, &"secret".into(), vec![service.clone()]).await.unwrap();

    let report = |id: &str| Allocation { id: id.into(), client_status: ClientStatus::Failed, ..Default::default() };
    let stolen = ServiceRegistration { node_id: other.into(), ..service.clone() };
    let foreign = ServiceRegistration { id: "new".into(), node_id: other.into(), ..service.clone() };
    let refusals = [
        node_rpc::update_allocs(&server, other, &"secret".into(), vec![report(&alloc.id)]).await.map(drop),
        node_rpc::upsert_services(&server, other, &"secret".into(), vec![service.clone()]).await.map(drop),
        node_rpc::upsert_services(&server, other, &"secret".into(), vec![stolen]).await.map(drop),
        node_rpc::upsert_services(&server, other, &"secret".into(), vec![foreign]).await.map(drop),
        node_rpc::delete_service(&server, other, &"secret".into(), "default", "s").await.map(drop),
    ];
    for wrong in refusals.map(Result::unwrap_err) {
        assert_eq!((wrong.status(), wrong.message.as_str()), (403, "Permission denied"));
    }
    let read = node_rpc::allocs(&server, other, &"secret".into(), &[alloc.id.to_string()], 0).await.unwrap().0;
    assert!(read.is_empty(), "{read:?}");
    let wanted = IdentityRequest { alloc_id: alloc.id.to_string(), task: "t".into(), identity: "default".into() };
    let signed = identity::sign(&server, other, &"secret".into(), vec![wanted]).await.unwrap();
    assert!(signed.is_empty());
    // An allocation that was garbage-collected meanwhile causes no log entry.
    let before = server.snapshot().latest_index();
    node_rpc::update_allocs(&server, other, &"secret".into(), vec![report("33333333-0000-4000-8000-000000000001")])
        .await
        .unwrap();
    assert_eq!(server.snapshot().latest_index(), before);

    let too_many = vec![report(&alloc.id); node_rpc::MOST_REPORTS + 1];
    let refused = node_rpc::update_allocs(&server, one, &"secret".into(), too_many).await.unwrap_err();
    assert_eq!(refused.message, "10001 reports in one call; at most 10000 are accepted");
    let services =
        (0..=node_rpc::MOST_SERVICES_OF_ALLOC).map(|n| ServiceRegistration { id: n.to_string(), ..service.clone() });
    let refused = node_rpc::upsert_services(&server, one, &"secret".into(), services.collect()).await.unwrap_err();
    assert_eq!(refused.message, "an allocation has at most 512 registered services");
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_state_is_scheduled_on_and_survives_a_restart() {
    let dir = Dir::new();
    let id = ids::uuid();
    let server = start(&dir, &id).await;
    let n = "11111111-0000-4000-8000-000000000001";
    node_rpc::register(&server, node(n), "").await.unwrap();
    node_rpc::update_status(&server, n, &"secret".into(), "", NodeStatus::Ready).await.unwrap();
    register(&server, job("kept", 3)).await;
    eventually("placement", || running(&server, "kept") == 3).await;
    register(&server, job("full", 9)).await;
    let blocked = || server.queues().blocked().stats().blocked;
    eventually("placement", || server.snapshot().alloc_count() == 10 && settled(&server) && blocked() == 1).await;
    let before = server.snapshot();
    let mut saved = Vec::new();
    Store::write_snapshot(&before, &mut saved).unwrap();
    let done = before.state().allocs_of_job("default", "kept")[0].alloc.id.clone();
    let report = Allocation { id: done, client_status: ClientStatus::Complete, ..Default::default() };
    node_rpc::update_allocs(&server, n, &"secret".into(), vec![report]).await.unwrap();
    register(&server, job("lost", 1)).await;
    eventually("the last places to be taken", || server.snapshot().alloc_count() == 11 && settled(&server)).await;

    let cut = saved[..saved.len() - 9].to_vec();
    let refused = operator::restore(&server, cut).await.unwrap_err();
    assert!(refused.message.starts_with("failed to restore from snapshot: state snapshot: "), "{refused}");
    assert!(server.snapshot().state().job("default", "lost").is_some());

    // A waiting node is answered immediately, although indexes are lower now.
    let (_, seen) = node_rpc::client_allocs(&server, n, &"secret".into(), 0, Duration::ZERO).await.unwrap();
    let waiting = tokio::spawn({
        let server = server.clone();
        let (secret, wait) = ("secret".into(), Duration::from_secs(300));
        async move { node_rpc::client_allocs(&server, n, &secret, seen, wait).await.unwrap() }
    });
    eventually("the node to wait", || !server.store().watches().is_empty()).await;
    let index = operator::restore(&server, saved).await.unwrap();
    let (allocs, now) = tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap().unwrap();
    assert!(allocs.len() == 10 && now < seen && index > seen, "{} allocations at {now}", allocs.len());
    server.wait_ready().await.unwrap();
    let restored = server.snapshot();
    assert!(restored.state().job("default", "lost").is_none());
    assert_eq!((restored.alloc_count(), restored.eval_count()), (before.alloc_count(), before.eval_count()));
    eventually("blocked evaluations to be tracked again", || blocked() == 1).await;

    let freed = restored.state().allocs_of_job("default", "kept")[0].alloc.id.clone();
    let report = Allocation { id: freed, client_status: ClientStatus::Complete, ..Default::default() };
    node_rpc::update_allocs(&server, n, &"secret".into(), vec![report]).await.unwrap();
    eventually("the unblocked placement", || running(&server, "full") == 8 && settled(&server)).await;
    let last = server.snapshot();
    server.shutdown().await;
    drop(server);

    let server = start(&dir, &id).await;
    assert_eq!(server.snapshot().alloc_count(), last.alloc_count());
    assert_eq!(running(&server, "full"), 8);
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_without_heartbeats_goes_down_and_its_jobs_are_evaluated() {
    let dir = Dir::new();
    let mut settings = Settings::new(&ids::uuid(), "server-1", dir.0.clone());
    (settings.heartbeat.min_ttl, settings.heartbeat.grace) = (SECOND / 10, SECOND / 10);
    let server = Server::start(settings, Metrics::default()).await.unwrap();
    server.wait_ready().await.unwrap();
    let n = "11111111-0000-4000-8000-000000000001";
    node_rpc::register(&server, node(n), "").await.unwrap();
    node_rpc::update_status(&server, n, &"secret".into(), "", NodeStatus::Ready).await.unwrap();
    register(&server, job("web", 1)).await;
    eventually("the node to be down", || {
        server.snapshot().state().node(n).is_some_and(|n| n.node.status == NodeStatus::Down)
    })
    .await;
    eventually("an evaluation of the node", || {
        let s = server.snapshot();
        s.evals_by_create()
            .any(|e| e.triggered_by == EvalTrigger::NodeUpdate && e.node_id == n && e.status == EvalStatus::Complete)
    })
    .await;
    let events = server.snapshot().state().node(n).unwrap().node.events.clone();
    assert_eq!(events.last().unwrap().message, "Node heartbeat missed");
    server.shutdown().await;
}
