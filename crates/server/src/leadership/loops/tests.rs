//! Tests of the loops with a complete server.

use std::sync::Arc;
use std::time::Duration;

use super::periodic;
use crate::Server;
use crate::nodes::drain::{DrainRequest, set_drain};
use crate::nodes::node_rpc;
use crate::tests::*;
use encamp_host::ids;
use encamp_model::*;

const HOUR: i64 = 3600 * SECOND;

fn periodic_job(id: &str, cron: &str) -> Job {
    let config = PeriodicConfig { enabled: true, spec: cron.into(), ..Default::default() };
    Job { r#type: JobType::Batch, periodic: Some(config), ..job(id, 1) }
}

fn children(server: &Server, id: &str) -> Vec<String> {
    server.snapshot().children("default", id).map(|c| c.id.clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn periodic_jobs_launch() {
    let dir = Dir::new();
    let id = ids::uuid();
    let server = start(&dir, &id).await;
    let soon = ids::now();
    put_job(&server, periodic_job("every", "* * * * * * *")).await;
    eventually("a launch", || !children(&server, "every").is_empty()).await;
    let child = server.snapshot().state().job("default", &children(&server, "every")[0]).unwrap().clone();
    assert_eq!((child.parent_id.as_str(), child.periodic.is_none(), child.name == child.id), ("every", true, true));
    let launch = server.snapshot().launch("default", "every").unwrap().launch.unix_nanos().unwrap();
    assert!(launch > soon - SECOND && launch % SECOND == 0);
    let store = server.snapshot();
    let launched =
        store.evals_of_job("default", &child.id).find(|e| e.triggered_by == EvalTrigger::PeriodicJob).cloned();
    assert_eq!(launched.unwrap().create_index, child.create_index);
    let stopped = Job { stop: true, ..periodic_job("every", "* * * * * * *") };
    put_job(&server, stopped).await;
    assert_eq!(server.queues().periodic().jobs().count(), 0);

    // Other times are passed as arguments.
    let mut j = periodic_job("hourly", "0 * * * *");
    j.periodic.as_mut().unwrap().prohibit_overlap = true;
    put_job(&server, j).await;
    let due = server.queues().periodic().next_deadline().unwrap();
    periodic::launch_due(&server, due).await;
    assert_eq!(children(&server, "hourly"), [format!("hourly/periodic-{}", due / SECOND)]);
    assert_eq!(server.queues().periodic().next_deadline(), Some(due + HOUR));
    // There is no node, so the evaluation of the child job is blocked.
    eventually("a blocked evaluation", || {
        server.snapshot().evals_by_create().any(|e| e.job_id.starts_with("hourly/") && e.status == EvalStatus::Blocked)
    })
    .await;
    periodic::launch_due(&server, due + HOUR).await;
    assert_eq!(children(&server, "hourly").len(), 1, "launches may not overlap");
    let forced = periodic::force(&server, "default", "hourly").await.unwrap();
    assert_eq!(children(&server, "hourly").len(), 2);
    assert_eq!(server.snapshot().eval(&forced.eval_id).unwrap().job_id, forced.job_id);
    assert_eq!(server.snapshot().state().job("default", &forced.job_id).unwrap().create_index, forced.index);
    assert_eq!(server.queues().periodic().next_deadline(), Some(due + 2 * HOUR), "the schedule stays");
    put_job(&server, job("plain", 1)).await;
    for (id, text) in [
        ("", "missing job ID for evaluation"),
        ("nothing", "job not found"),
        ("plain", "can't force launch non-periodic job"),
        ("every", r#"force launch for job "every" failed: can't force run non-tracked job "every" (default)"#),
    ] {
        let e = periodic::force(&server, "default", id).await.unwrap_err();
        assert_eq!((e.status(), e.message.as_str()), (500, text));
    }

    // A new leader launches missed jobs once. Launches of `hourly` must not overlap, those of `free` may.
    put_job(&server, periodic_job("free", "0 * * * *")).await;
    let late = due + 50 * HOUR + 7 * SECOND;
    periodic::catch_up(&server, late).await.unwrap();
    assert_eq!(children(&server, "free"), [format!("free/periodic-{}", late / SECOND)]);
    assert_eq!(children(&server, "hourly").len(), 2);
    server.shutdown().await;
    drop(server);
    let server = start(&dir, &id).await;
    eventually("the tracker", || server.queues().periodic().jobs().count() == 2).await;
    assert!(server.queues().periodic().next_deadline().unwrap() <= ids::now() + HOUR);
    tokio::time::timeout(Duration::from_secs(10), server.shutdown()).await.unwrap();
}

const NODES: [&str; 2] = ["11111111-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000002"];

async fn ready_node(server: &Server, id: &str) {
    node_rpc::register(server, node(id), "").await.unwrap();
    node_rpc::update_status(server, id, &"secret".into(), "", NodeStatus::Ready).await.unwrap();
}

/// The next report of a node about an allocation, from a client that starts and stops tasks immediately.
fn report(a: &Allocation, healthy: &dyn Fn(&Allocation) -> bool) -> Option<Allocation> {
    let verdict = |health| {
        let timestamp = Time::from_unix_nanos(ids::now());
        Some(AllocDeploymentStatus { healthy: Some(health), timestamp, ..Default::default() })
    };
    let (client_status, health) = match (a.server_terminal(), &a.client_status) {
        (true, ClientStatus::Pending | ClientStatus::Running) => (ClientStatus::Complete, None),
        (false, ClientStatus::Pending) => (ClientStatus::Running, None),
        (false, ClientStatus::Running) if a.health().is_none() => (ClientStatus::Running, verdict(healthy(a))),
        _ => return None,
    };
    let canary = a.is_canary();
    let deployment_status = health.map(|h: AllocDeploymentStatus| Box::new(AllocDeploymentStatus { canary, ..h }));
    Some(Allocation { id: a.id.clone(), client_status, deployment_status, ..Default::default() })
}

/// Simulates the client of a node.
fn play(
    server: &Server,
    node: &'static str,
    healthy: impl Fn(&Allocation) -> bool + Send + 'static,
) -> tokio::task::JoinHandle<()> {
    let server = server.clone();
    tokio::spawn(async move {
        let mut seen = 0;
        loop {
            let wait = Duration::from_secs(1);
            let Ok((_, index)) = node_rpc::client_allocs(&server, node, &"secret".into(), seen, wait).await else {
                return;
            };
            let store = server.snapshot();
            let on_node = store.state().allocs_of_node(node);
            let reports: Vec<_> = on_node.iter().filter_map(|e| report(&e.alloc, &healthy)).collect();
            if !reports.is_empty() && node_rpc::update_allocs(&server, node, &"secret".into(), reports).await.is_err() {
                return;
            }
            seen = index;
        }
    })
}

fn rolled_out(id: &str, count: i64, update: UpdateStrategy) -> Job {
    let mut j = job(id, count);
    j.task_groups[0].update = Some(UpdateStrategy { max_parallel: 1, ..update });
    j.task_groups[0].migrate = Some(MigrateStrategy { max_parallel: 1, ..Default::default() });
    j
}

/// The latest deployment of a version of a job: its status and description.
fn rollout(server: &Server, job: &str, version: u64) -> Option<(DeploymentStatus, String)> {
    let found = server.snapshot().state().deployments_of_job("default", job).into_iter();
    found.filter(|d| d.job_version == version).map(|d| (d.status.clone(), d.status_description.clone())).next()
}

fn succeeded(server: &Server, job: &str, version: u64) -> bool {
    rollout(server, job, version).is_some_and(|(status, _)| status == DeploymentStatus::Successful)
}

fn live_on(server: &Server, node: &str) -> usize {
    server.snapshot().state().allocs_of_node(node).iter().filter(|e| !e.phase.client_terminal()).count()
}

fn stored_node(server: &Server, id: &str) -> Arc<Node> {
    server.snapshot().state().node(id).unwrap().node.clone()
}

fn messages(node: &Node) -> Vec<&str> {
    node.events.iter().filter(|e| e.subsystem == "Drain").map(|e| e.message.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drained_node_is_emptied_and_its_work_continues() {
    let dir = Dir::new();
    let server = start(&dir, &ids::uuid()).await;
    for n in NODES {
        ready_node(&server, n).await;
    }
    let _clients: Vec<_> = NODES.into_iter().map(|n| play(&server, n, |_| true)).collect();
    register(&server, rolled_out("web", 2, UpdateStrategy::default())).await;
    eventually("the deployment", || succeeded(&server, "web", 0) && settled(&server)).await;
    let from = if live_on(&server, NODES[0]) > 0 { NODES[0] } else { NODES[1] };
    let strategy = DrainStrategy { deadline: 600 * SECOND, ..Default::default() };
    let request = DrainRequest {
        strategy: Some(strategy),
        meta: [("message".to_string(), "maintenance".to_string())].into(),
        accessor_id: "token:acls-disabled".into(),
        ..Default::default()
    };
    let answer = set_drain(&server, from, request.clone()).await.unwrap();
    assert!(answer.index == answer.node_modify_index && answer.eval_ids.is_empty());
    eventually("the drain", || stored_node(&server, from).drain_strategy.is_none()).await;
    assert_eq!((live_on(&server, from), running(&server, "web")), (0, 2));
    let n = stored_node(&server, from);
    assert_eq!(messages(&n), ["Node drain strategy set", "Node drain complete"]);
    assert!(n.events.last().unwrap().details.is_empty());
    let last = n.last_drain.clone().unwrap();
    assert_eq!((&last.status, last.accessor_id.as_str()), (&DrainStatus::Complete, "token:acls-disabled"));
    assert_eq!(n.scheduling_eligibility, NodeEligibility::Ineligible);
    assert_eq!((last.meta, n.drain), (request.meta.clone(), false));
    let marked = server.snapshot().state().allocs_of_node(from);
    assert!(marked.iter().all(|e| e.alloc.desired_transition.should_migrate()));
    assert!(
        server
            .snapshot()
            .evals_by_create()
            .any(|e| e.triggered_by == EvalTrigger::NodeDrain && e.status == EvalStatus::Complete)
    );

    // The node becomes eligible again: its jobs are evaluated.
    let back = DrainRequest { mark_eligible: true, ..Default::default() };
    let answer = set_drain(&server, from, back.clone()).await.unwrap();
    assert!(answer.eval_create_index == 0 && answer.eval_ids.is_empty(), "nothing is left of its jobs");
    assert_eq!(answer.scheduling_eligibility, NodeEligibility::Eligible);
    assert_eq!(messages(&stored_node(&server, from)).len(), 2, "no drain was active");

    // A drain that is updated and then cancelled. Only the deadline could end it, because the job is a batch job.
    let mut batch = job("batch", 1);
    batch.r#type = JobType::Batch;
    register(&server, batch).await;
    eventually("the batch job", || running(&server, "batch") == 1 && settled(&server)).await;
    let on = server.snapshot().state().allocs_of_job("default", "batch")[0].alloc.node_id.to_string();
    let infinite = DrainRequest { strategy: Some(DrainStrategy::default()), ..Default::default() };
    set_drain(&server, &on, infinite.clone()).await.unwrap();
    let started = stored_node(&server, &on).drain_strategy.clone().unwrap().started_at;
    set_drain(&server, &on, request).await.unwrap();
    assert_eq!(stored_node(&server, &on).drain_strategy.clone().unwrap().started_at, started);
    let answer = set_drain(&server, &on, back).await.unwrap();
    assert!(!answer.eval_ids.is_empty() && answer.eval_create_index == answer.index, "one operation");
    let n = stored_node(&server, &on);
    let expected = ["Node drain strategy set", "Node drain strategy updated", "Node drain disabled"];
    assert!(messages(&n).ends_with(&expected), "{:?}", n.events);
    assert_eq!(n.last_drain.as_ref().unwrap().status, DrainStatus::Canceled);

    // A forced drain does not wait. The batch job is stopped and not replaced.
    let force = DrainRequest { strategy: Some(DrainStrategy { deadline: -1, ..Default::default() }), ..infinite };
    set_drain(&server, &on, force).await.unwrap();
    eventually("the forced drain", || stored_node(&server, &on).drain_strategy.is_none()).await;
    assert_eq!(stored_node(&server, &on).events.last().unwrap().details["deadline_reached"], "true");
    eventually("the node to be left", || live_on(&server, &on) == 0 && settled(&server)).await;
    assert_eq!(running(&server, "batch"), 0);
    let unknown = set_drain(&server, "nobody", DrainRequest::default()).await.unwrap_err();
    assert_eq!((unknown.status(), unknown.message.as_str()), (500, "node not found"));
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn canaries_are_promoted_and_bad_versions_are_rolled_back() {
    let dir = Dir::new();
    let server = start(&dir, &ids::uuid()).await;
    ready_node(&server, NODES[0]).await;
    let version = |j: &Job| j.meta.get("v").cloned().unwrap_or_default();
    let _client = play(&server, NODES[0], move |a| version(a.job.as_ref().unwrap()) != "bad");
    let update = UpdateStrategy { auto_promote: true, auto_revert: true, canary: 1, ..Default::default() };
    let job = |v: &str| {
        let mut j = rolled_out("web", 2, update.clone());
        j.meta.insert("v".into(), v.into());
        j
    };
    register(&server, job("first")).await;
    eventually("the first version", || succeeded(&server, "web", 0) && settled(&server)).await;
    register(&server, job("second")).await;
    eventually("the second version", || succeeded(&server, "web", 1) && settled(&server)).await;
    let d = server.snapshot().state().latest_deployment("default", "web").unwrap();
    let group = d.task_groups["g"].as_ref().unwrap();
    assert_eq!((group.promoted, group.desired_canaries, group.placed_canaries.len()), (true, 1, 1));
    assert_eq!(running(&server, "web"), 2);
    let store = server.snapshot();
    let watched =
        |e: &&Arc<Evaluation>| e.triggered_by == EvalTrigger::DeploymentWatcher && !e.deployment_id.is_empty();
    assert!(store.evals_by_create().filter(watched).count() >= 2);

    // The third version is unhealthy: two allocations keep running, and the second version returns as the fourth.
    register(&server, job("bad")).await;
    eventually("the rollback", || succeeded(&server, "web", 3) && settled(&server)).await;
    let text = "Failed due to unhealthy allocations - rolling back to job version 1";
    assert_eq!(rollout(&server, "web", 2), Some((DeploymentStatus::Failed, text.into())));
    let current = server.snapshot().state().job("default", "web").unwrap().clone();
    assert_eq!((current.version, current.meta["v"].as_str(), current.stable), (3, "second", true));
    let left = server.snapshot().state().allocs_of_job("default", "web");
    let of_version = left.iter().filter(|e| !e.phase.terminal()).map(|e| e.alloc.job_version());
    assert_eq!(of_version.collect::<Vec<_>>(), [Some(3); 2]);
    server.shutdown().await;
}
