use std::collections::BTreeMap;

use super::*;
use crate::tests::refusal;
use encamp_model::*;
use encamp_ops::codec;
use encamp_ops::*;

fn new_store() -> StateStore {
    StateStore::new()
}

fn ok(store: &mut StateStore, index: u64, op: Operation) -> Applied {
    let applied = apply(store, index, &op, Limits::default());
    assert!(!matches!(applied.reply, Reply::Refused(_)), "{:?}", applied.reply);
    applied
}

fn job(id: &str, r#type: JobType) -> Job {
    Job {
        id: id.into(),
        name: id.into(),
        namespace: "default".into(),
        r#type,
        priority: 50,
        node_pool: "default".into(),
        datacenters: vec!["*".into()],
        task_groups: vec![TaskGroup { name: "g".into(), count: 1, ..Default::default() }],
        ..Default::default()
    }
}

fn pending(id: &str, job: &str) -> Evaluation {
    Evaluation {
        id: id.into(),
        namespace: "default".into(),
        job_id: job.into(),
        r#type: JobType::Service,
        status: EvalStatus::Pending,
        priority: 50,
        ..Default::default()
    }
}

fn register(store: &mut StateStore, index: u64, job: Job, eval: Option<Evaluation>) -> Applied {
    let r = JobRegister { job: Arc::new(job), eval, submission: None, enforce_index: None, now: 5 };
    ok(store, index, Operation::JobRegister(Box::new(r)))
}

fn node(id: &str) -> Node {
    Node {
        id: id.into(),
        status: NodeStatus::Ready,
        scheduling_eligibility: NodeEligibility::Eligible,
        node_pool: "default".into(),
        datacenter: "dc1".into(),
        ..Default::default()
    }
}

fn place(store: &mut StateStore, index: u64, eval: &str, allocs: Vec<Allocation>) -> Applied {
    let job = allocs.first().and_then(|a| store.state().job(&a.namespace, &a.job_id).cloned());
    let placements = allocs.into_iter().map(Arc::new).collect();
    let plan = PlanResults { eval_id: eval.into(), job, placements, now: 7, ..Default::default() };
    ok(store, index, Operation::PlanResults(Box::new(plan)))
}

fn alloc(id: &str, job: &str) -> Allocation {
    Allocation {
        id: id.into(),
        namespace: "default".into(),
        job_id: job.into(),
        task_group: "g".into(),
        node_id: "n1".into(),
        desired_status: DesiredStatus::Run,
        client_status: ClientStatus::Pending,
        ..Default::default()
    }
}

fn status(store: &StateStore, id: &str) -> JobStatus {
    store.state().job("default", id).map(|j| j.status.clone()).unwrap_or_default()
}

fn client(store: &mut StateStore, index: u64, id: &str, client_status: ClientStatus) -> Applied {
    let update = Allocation { id: id.into(), client_status, ..Default::default() };
    ok(store, index, Operation::AllocClientUpdate { allocs: vec![Arc::new(update)], evals: vec![], now: 9 })
}

#[test]
fn outdated_updates_change_nothing() {
    use ClientStatus::{Complete, Failed, Pending, Running};
    let mut s = new_store();
    register(&mut s, 10, job("web", JobType::Service), Some(pending("e1", "web")));
    place(&mut s, 11, "e1", vec![alloc("a1", "web")]);
    let report = |client_status, events: &[(&str, i64)]| {
        let event =
            |(name, time): &(&str, i64)| TaskEvent { r#type: (*name).into(), time: *time, ..Default::default() };
        let state = TaskState { events: events.iter().map(event).collect(), ..Default::default() };
        let task_states = [("t".to_string(), state)].into_iter().collect();
        let update = Allocation { id: "a1".into(), client_status, task_states, ..Default::default() };
        Operation::AllocClientUpdate { allocs: vec![Arc::new(update)], evals: vec![], now: 9 }
    };
    let [received, started, restarting] = [("Received", 5), ("Started", 3), ("Restarting", 3)];
    let [again, killed] = [("Started", 4), ("Killed", 6)];
    let client_status = |s: &StateStore| s.state().alloc("a1").unwrap().alloc.client_status.clone();
    for (index, status, events, stored) in [
        (12, Pending, &[received][..], Pending),
        // The node's clock was set back meanwhile.
        (13, Running, &[received, started], Running),
        (14, Pending, &[received], Running),
        (15, Pending, &[received, started, restarting], Pending),
        (16, Running, &[received, started], Pending),
        // Older events may have been dropped.
        (17, Running, &[restarting, again], Running),
        (18, Pending, &[received, started, restarting], Running),
        (19, Complete, &[restarting, again, killed], Complete),
        (20, Running, &[restarting, again], Complete),
        (21, Running, &[("Other", 9)], Complete),
        (22, Failed, &[restarting, again, killed], Failed),
    ] {
        ok(&mut s, index, report(status, events));
        assert_eq!(client_status(&s), stored, "{index}");
    }
    let mut lost = Allocation::clone(&s.state().alloc("a1").unwrap().alloc);
    lost.client_status = ClientStatus::Lost;
    s.put_allocs(vec![Arc::new(lost)]);
    ok(&mut s, 23, report(Running, &[restarting, again, killed]));
    assert_eq!(client_status(&s), Running, "its node reconnected");
}

#[test]
fn a_stop_planned_on_an_old_state_does_not_undo_the_end_of_the_tasks() {
    let mut s = new_store();
    register(&mut s, 10, job("web", JobType::Batch), Some(pending("e1", "web")));
    place(&mut s, 11, "e1", ["a1", "a2"].map(|id| alloc(id, "web")).into());
    for (index, id) in [(12, "a1"), (13, "a2")] {
        client(&mut s, index, id, ClientStatus::Running);
    }
    client(&mut s, 14, "a1", ClientStatus::Complete);
    let stop = |id: &str, client_status| PlannedStop {
        id: id.into(),
        desired_description: "alloc is being migrated".into(),
        client_status,
        ..Default::default()
    };
    let stops = vec![stop("a1", ClientStatus::Running), stop("a2", ClientStatus::Lost)];
    let plan = PlanResults { eval_id: "e1".into(), stops, ..Default::default() };
    ok(&mut s, 15, Operation::PlanResults(Box::new(plan)));
    let statuses = ["a1", "a2"].map(|id| s.state().alloc(id).unwrap().alloc.client_status.clone());
    assert_eq!(statuses, [ClientStatus::Complete, ClientStatus::Lost]);
}

#[test]
fn a_service_job_lives_and_ends() {
    let mut s = new_store();
    register(&mut s, 10, job("web", JobType::Service), Some(pending("e1", "web")));
    assert_eq!(status(&s, "web"), JobStatus::Pending);
    let eval = s.eval("e1").unwrap();
    assert_eq!((eval.create_index, eval.job_modify_index), (10, 10));
    place(&mut s, 11, "e1", vec![alloc("a1", "web")]);
    assert_eq!(status(&s, "web"), JobStatus::Running);
    assert_eq!(s.summary("default", "web").unwrap().summary["g"].starting, 1);
    let done = Evaluation { status: EvalStatus::Complete, ..pending("e1", "web") };
    ok(&mut s, 12, Operation::EvalUpdate { evals: vec![done] });
    assert_eq!(s.eval("e1").unwrap().create_index, 10);
    client(&mut s, 13, "a1", ClientStatus::Running);
    let counts = s.summary("default", "web").unwrap().summary["g"].clone();
    assert_eq!((counts.starting, counts.running), (0, 1));

    let stop = JobDeregister {
        job: JobKey::new("default", "web"),
        purge: false,
        no_shutdown_delay: false,
        eval: Some(pending("e2", "web")),
        submit_time: 20,
    };
    ok(&mut s, 14, Operation::JobDeregister(Box::new(stop)));
    let stopped = s.state().job("default", "web").unwrap();
    assert!(stopped.stop && stopped.version == 1 && stopped.submit_time == 20);
    assert_eq!(status(&s, "web"), JobStatus::Running);
    let plan = PlanResults {
        eval_id: "e2".into(),
        stops: vec![PlannedStop { id: "a1".into(), ..Default::default() }],
        ..Default::default()
    };
    ok(&mut s, 15, Operation::PlanResults(Box::new(plan)));
    assert_eq!(status(&s, "web"), JobStatus::Pending);
    let done = Evaluation { status: EvalStatus::Complete, ..pending("e2", "web") };
    ok(&mut s, 16, Operation::EvalUpdate { evals: vec![done] });
    assert_eq!(status(&s, "web"), JobStatus::Dead);
    let stop = JobDeregister {
        job: JobKey::new("default", "web"),
        purge: true,
        no_shutdown_delay: false,
        eval: None,
        submit_time: 21,
    };
    ok(&mut s, 17, Operation::JobDeregister(Box::new(stop)));
    assert!(s.state().job("default", "web").is_none() && s.alloc_count() == 0);
    assert!(s.summary("default", "web").is_none());
    assert_eq!(s.latest_index(), 17);
}

#[test]
fn superseded_evaluations_are_cancelled_by_their_ids() {
    let mut s = new_store();
    register(&mut s, 10, job("web", JobType::Service), Some(pending("e1", "web")));
    register(&mut s, 10, job("db", JobType::Service), Some(Evaluation { create_time: 90, ..pending("e2", "db") }));
    let blocked = Evaluation { status: EvalStatus::Blocked, node_id: "n".into(), ..pending("e3", "web") };
    let done = Evaluation { status: EvalStatus::Complete, ..pending("e4", "db") };
    ok(&mut s, 11, Operation::EvalUpdate { evals: vec![blocked.clone(), done] });
    let ids = ["e1", "unknown", "e2", "e4", "e3"];
    let cancel = Operation::EvalCancel { evals: ids.iter().collect(), now: 50 };
    let applied = ok(&mut s, 12, cancel);
    let changed: Vec<&str> = applied
        .changes
        .iter()
        .filter_map(|c| if let Change::Eval(e) = c { Some(e.id.as_str()) } else { None })
        .collect();
    assert_eq!(changed, ["e1", "e2", "e3"], "what has ended or is gone stays");
    assert!(s.eval("unknown").is_none());
    let want = Evaluation {
        status: EvalStatus::Canceled,
        status_description: "canceled after more recent eval was processed".into(),
        create_index: 11,
        modify_index: 12,
        modify_time: 50,
        ..blocked
    };
    assert_eq!(**s.eval("e3").unwrap(), want);
    let [e2, e4] = ["e2", "e4"].map(|id| s.eval(id).unwrap());
    assert_eq!((e2.create_index, e2.modify_time), (10, 91), "the clock may be behind the one that created it");
    assert_eq!((&e4.status, e4.modify_index), (&EvalStatus::Complete, 11));
    assert_eq!([status(&s, "web"), status(&s, "db")], [JobStatus::Dead, JobStatus::Dead]);
}

#[test]
fn a_purge_cancels_evaluations_and_frees_capacity() {
    let mut s = new_store();
    for n in ["n1", "n2"] {
        let node = Node { computed_class: format!("class of {n}"), ..node(n) };
        ok(&mut s, 5, Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: false, now: 1 })));
    }
    register(&mut s, 10, job("web", JobType::Service), Some(pending("e1", "web")));
    place(&mut s, 11, "e1", vec![alloc("a1", "web"), Allocation { node_id: "n2".into(), ..alloc("a2", "web") }]);
    let blocked = Evaluation { status: EvalStatus::Blocked, ..pending("e2", "web") };
    ok(&mut s, 12, Operation::EvalUpdate { evals: vec![blocked] });
    client(&mut s, 13, "a1", ClientStatus::Complete);
    let purge = JobDeregister {
        job: JobKey::new("default", "web"),
        purge: true,
        no_shutdown_delay: false,
        eval: None,
        submit_time: 21,
    };
    let applied = ok(&mut s, 14, Operation::JobDeregister(Box::new(purge)));
    assert!(s.evals_by_create().all(|e| e.status == EvalStatus::Complete));
    // The capacity of a1 was already freed when it ended.
    assert_eq!(applied.unblocks, [Unblock { class: "class of n2".into(), node: Some("n2".into()) }]);
}

#[test]
fn changes_of_nodes_entail_evaluations_in_one_operation() {
    let mut s = new_store();
    let change = |change| Operation::NodeChange(Box::new(NodeChange { change, seed: 7, now: 9 }));
    let system = Job { datacenters: vec!["*".into()], node_pool: "all".into(), ..job("every", JobType::System) };
    register(&mut s, 4, system, None);
    let node =
        Node { status: NodeStatus::Initializing, scheduling_eligibility: NodeEligibility::Eligible, ..node("n1") };
    let registered = Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: false, now: 1 }));
    let none = |a: &Applied| matches!(&a.reply, Reply::Evaluations(made) if made.is_empty());
    assert!(none(&ok(&mut s, 5, change(registered))), "it is not ready");
    let ready = || {
        let (id, status, identity_key_id) = ("n1".into(), NodeStatus::Ready, String::new());
        change(Operation::NodeStatus(NodeStatusChange { id, status, event: None, identity_key_id, updated_at: 2 }))
    };
    let applied = ok(&mut s, 6, ready());
    let Reply::Evaluations(made) = &applied.reply else { panic!("{:?}", applied.reply) };
    let [id] = &made[..] else { panic!("{made:?}") };
    let e = s.eval(id).unwrap();
    assert_eq!((e.job_id.as_str(), e.node_id.as_str(), e.node_modify_index), ("every", "n1", 6));
    assert_eq!((&e.triggered_by, e.create_index, e.create_time), (&EvalTrigger::NodeUpdate, 6, 9));
    assert!(none(&ok(&mut s, 7, ready())), "it was ready");
    let set =
        |eligibility| change(Operation::NodeEligibility { id: "n1".into(), eligibility, event: None, updated_at: 3 });
    assert!(none(&ok(&mut s, 8, set(NodeEligibility::Ineligible))));
    assert!(!none(&ok(&mut s, 9, set(NodeEligibility::Eligible))));
    let update = DrainUpdate { strategy: Some(DrainStrategy::default()), ..Default::default() };
    let drain = NodeDrain { nodes: [("n1".into(), update)].into(), events: BTreeMap::new(), updated_at: 4 };
    assert!(none(&ok(&mut s, 10, change(Operation::NodeDrain(drain)))));
    let refused = apply(&mut s, 11, &set(NodeEligibility::Eligible), Limits::default());
    let why = "can not set node's scheduling eligibility to eligible while it is draining";
    assert_eq!(refusal(refused.reply), why);
    assert!(!none(&ok(&mut s, 11, change(Operation::NodeDeregister { ids: vec!["n1".into()] }))));
    let refused = apply(&mut s, 12, &change(Operation::Barrier), Limits::default());
    assert!(matches!(refused.reply, Reply::Refused(_)));
}

#[test]
fn nodes_that_change_together_make_one_evaluation_of_each_job() {
    let mut s = new_store();
    for (index, id) in [(4, "every"), (5, "other")] {
        let system = Job { datacenters: vec!["*".into()], node_pool: "all".into(), ..job(id, JobType::System) };
        register(&mut s, index, system, None);
    }
    for (index, id) in [(6, "n1"), (7, "n2")] {
        let node = Node { status: NodeStatus::Ready, scheduling_eligibility: NodeEligibility::Eligible, ..node(id) };
        ok(&mut s, index, Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: false, now: 1 })));
    }
    let down = |id: &str| {
        let (id, status, identity_key_id) = (id.into(), NodeStatus::Down, String::new());
        NodeStatusChange { id, status, event: None, identity_key_id, updated_at: 2 }
    };
    let statuses = ["n1", "gone", "n2"].map(down).into();
    let change = NodeChange { change: Operation::NodeStatusBatch { statuses }, seed: 7, now: 9 };
    let applied = ok(&mut s, 8, Operation::NodeChange(Box::new(change)));
    let Reply::Evaluations(made) = &applied.reply else { panic!("{:?}", applied.reply) };
    let mut jobs: Vec<&str> = made.iter().map(|id| s.eval(id).unwrap().job_id.as_str()).collect();
    jobs.sort_unstable();
    assert_eq!(jobs, ["every", "other"]);
    assert!(["n1", "n2"].iter().all(|id| s.state().node(id).unwrap().node.status == NodeStatus::Down));
}

#[test]
fn refused_operations_change_nothing() {
    let mut s = new_store();
    register(&mut s, 10, job("web", JobType::Service), None);
    let before = format!("{s:?}");
    for (op, want) in [
        (
            Operation::PlanResults(Box::new(PlanResults {
                eval_id: "nope".into(),
                placements: vec![Arc::new(alloc("a", "web"))],
                ..Default::default()
            })),
            "evaluation \"nope\" does not exist",
        ),
        (Operation::NodeDeregister { ids: vec!["n".into()] }, "node not found"),
        (Operation::NodePoolDelete { names: vec!["all".into()] }, "deleting node pool \"all\" is not allowed"),
        (
            Operation::JobBatchDeregister { jobs: vec![JobKey::new("default", "web"), JobKey::new("x", "y")] },
            "job not found",
        ),
    ] {
        let got = apply(&mut s, 11, &op, Limits::default());
        assert_eq!(refusal(got.reply), want);
        assert!(got.changes.is_empty());
        assert_eq!(format!("{s:?}"), before);
    }
}

#[test]
fn versions_are_pruned_as_in_the_worked_example() {
    let mut s = new_store();
    let key = JobKey::new("default", "web");
    register(&mut s, 10, job("web", JobType::Service), None);
    ok(&mut s, 11, Operation::JobStability { job: key.clone(), version: 0, stable: true });
    for v in 1..=6 {
        register(&mut s, 20 + v, Job { priority: 50 + v as i64, ..job("web", JobType::Service) }, None);
    }
    let versions =
        |s: &StateStore| s.state().job_entry("default", "web").unwrap().versions.keys().copied().collect::<Vec<_>>();
    assert_eq!(versions(&s), [0, 2, 3, 4, 5, 6]);
    register(&mut s, 30, Job { priority: 70, ..job("web", JobType::Service) }, None);
    assert_eq!(versions(&s), [0, 3, 4, 5, 6, 7]);
    let tag = JobVersionTag { name: "gold".into(), ..Default::default() };
    ok(&mut s, 31, Operation::JobVersionTag { job: key.clone(), name: "gold".into(), tag: Some((3, tag.clone())) });
    assert_eq!(s.state().job("default", "web").unwrap().version, 7);
    register(&mut s, 32, Job { priority: 71, ..job("web", JobType::Service) }, None);
    assert_eq!(versions(&s), [0, 3, 4, 5, 6, 7, 8], "tagged versions do not count");
    let again = Operation::JobVersionTag { job: key, name: "gold".into(), tag: Some((4, tag)) };
    let want = "tag \"gold\" already exists on a different version of job \"web\"";
    assert_eq!(refusal(apply(&mut s, 33, &again, Limits::default()).reply), want);
}

#[test]
fn placements_of_jobs_that_were_stopped_meanwhile_are_skipped() {
    let mut s = new_store();
    register(&mut s, 10, job("web", JobType::Service), Some(pending("e1", "web")));
    register(&mut s, 11, Job { stop: true, ..job("web", JobType::Service) }, None);
    place(&mut s, 12, "e1", vec![alloc("a1", "web")]);
    assert_eq!(s.alloc_count(), 0);
    assert_eq!(s.eval("e1").unwrap().modify_index, 12);
}

#[test]
fn preempted_allocations_name_the_allocation_that_preempted_them() {
    let mut s = new_store();
    register(&mut s, 10, job("low", JobType::Service), Some(pending("e1", "low")));
    place(&mut s, 11, "e1", vec![alloc("a1", "low")]);
    register(&mut s, 12, job("high", JobType::Service), Some(pending("e2", "high")));
    let plan = PlanResults {
        eval_id: "e2".into(),
        job: s.state().job("default", "high").cloned(),
        placements: vec![Arc::new(alloc("a2", "high"))],
        victims: vec![("a1".into(), "a2".into())],
        preemption_evals: vec![pending("e3", "low")],
        ..Default::default()
    };
    let applied = ok(&mut s, 13, Operation::PlanResults(Box::new(plan)));
    let victim = &s.state().alloc("a1").unwrap().alloc;
    assert_eq!((&victim.desired_status, victim.preempted_by_allocation.as_str()), (&DesiredStatus::Evict, "a2"));
    assert_eq!(victim.desired_description, "Preempted by alloc ID a2");
    assert!(applied.changes.iter().any(|c| matches!(c, Change::Eval(e) if e.id == "e3" && e.create_index == 13)));
    assert_eq!(status(&s, "low"), JobStatus::Pending);
}

#[test]
fn clients_own_some_fields_and_free_capacity() {
    let mut s = new_store();
    let r = NodeRegister { node: Node { computed_class: "c1".into(), ..node("n1") }, create_pool: false, now: 1 };
    let applied = ok(&mut s, 5, Operation::NodeRegister(Box::new(r)));
    assert_eq!(applied.unblocks, [Unblock { class: "c1".into(), node: None }]);
    register(&mut s, 10, job("b", JobType::Batch), Some(pending("e1", "b")));
    place(&mut s, 11, "e1", vec![alloc("a1", "b")]);
    let applied = client(&mut s, 12, "a1", ClientStatus::Complete);
    assert_eq!(applied.unblocks, [Unblock { class: "c1".into(), node: Some("n1".into()) }]);
    let a = &s.state().alloc("a1").unwrap().alloc;
    assert_eq!((a.modify_index, a.alloc_modify_index, a.modify_time), (12, 11, 9));
    let n = &s.state().node("n1").unwrap().node;
    assert_eq!((n.last_alloc_update_index, n.modify_index), (12, 5));
    assert_eq!(s.index_of(encamp_state::Table::Nodes), 12);
    client(&mut s, 13, "unknown", ClientStatus::Complete);
    assert_eq!(s.index_of(encamp_state::Table::Allocs), 12, "an unknown allocation writes nothing");
}

#[test]
fn successful_evaluations_cancel_blocked_ones() {
    let mut s = new_store();
    register(&mut s, 10, job("web", JobType::Service), Some(pending("e1", "web")));
    ok(
        &mut s,
        11,
        Operation::EvalUpdate { evals: vec![Evaluation { status: EvalStatus::Blocked, ..pending("b1", "web") }] },
    );
    let done = Evaluation { status: EvalStatus::Complete, modify_time: 77, ..pending("e1", "web") };
    ok(&mut s, 12, Operation::EvalUpdate { evals: vec![done] });
    let b = s.eval("b1").unwrap();
    assert_eq!((&b.status, b.modify_index, b.modify_time), (&EvalStatus::Canceled, 12, 77));
    assert_eq!(b.status_description, "evaluation \"e1\" successful");
}

#[test]
fn deployments_without_a_job_end_with_the_entry_that_restores_them() {
    let mut s = new_store();
    let d =
        Deployment { id: "d1".into(), job_id: "web".into(), status: DeploymentStatus::Running, ..Default::default() };
    s.put_deployment(Arc::new(d.clone()));
    let mut file = Vec::new();
    persist::write(&s, &mut file).unwrap();
    // A restarted server continues with a log in which the deployment is active.
    let read = persist::read(&mut file.as_slice()).unwrap();
    assert_eq!(**read.state().deployment("d1").unwrap(), d);
    ok(&mut s, 11, Operation::Restore { state: Bytes(file) });
    assert_eq!(s.state().deployment("d1").unwrap().status, DeploymentStatus::Cancelled);
}

#[test]
fn deployments_count_placements_and_health() {
    let mut s = new_store();
    register(&mut s, 10, job("web", JobType::Service), Some(pending("e1", "web")));
    let group = DeploymentState { desired_total: 1, desired_canaries: 1, progress_deadline: 100, ..Default::default() };
    let d = Deployment {
        id: "d1".into(),
        namespace: "default".into(),
        job_id: "web".into(),
        status: DeploymentStatus::Running,
        task_groups: [("g".to_string(), Some(group))].into(),
        ..Default::default()
    };
    let canary = AllocDeploymentStatus { canary: true, ..Default::default() };
    let a = Allocation { deployment_id: "d1".into(), deployment_status: Some(Box::new(canary)), ..alloc("a1", "web") };
    let plan = PlanResults {
        eval_id: "e1".into(),
        job: s.state().job("default", "web").cloned(),
        placements: vec![Arc::new(a)],
        deployment: Some(d),
        now: 1000,
        ..Default::default()
    };
    ok(&mut s, 11, Operation::PlanResults(Box::new(plan)));
    let group = |s: &StateStore| s.state().deployment("d1").unwrap().task_groups["g"].clone().unwrap();
    assert_eq!((group(&s).placed_allocs, group(&s).placed_canaries), (1, vec!["a1".to_string()]));
    assert_eq!(group(&s).require_progress_by, Time::from_unix_nanos(1100));
    let promote = |now| {
        let promotion = DeploymentPromotion { id: "d1".into(), groups: None, eval: None, now };
        Operation::DeploymentPromotion(Box::new(promotion))
    };
    let refused = apply(&mut s, 12, &promote(1), Limits::default()).reply;
    assert!(refusal(refused).contains("Task group \"g\" has 0/1 healthy allocations"));
    let healthy = AllocDeploymentStatus {
        healthy: Some(true),
        timestamp: Time::from_unix_nanos(2000),
        canary: true,
        modify_index: 0,
    };
    let update = Allocation {
        id: "a1".into(),
        client_status: ClientStatus::Running,
        deployment_status: Some(Box::new(healthy)),
        ..Default::default()
    };
    ok(&mut s, 13, Operation::AllocClientUpdate { allocs: vec![Arc::new(update)], evals: vec![], now: 2100 });
    assert_eq!(group(&s).healthy_allocs, 1);
    assert_eq!(group(&s).require_progress_by, Time::from_unix_nanos(2100));
    assert_eq!(s.state().alloc("a1").unwrap().alloc.deployment_status.as_ref().unwrap().modify_index, 13);
    ok(&mut s, 14, promote(3000));
    assert!(group(&s).promoted && !s.state().alloc("a1").unwrap().alloc.is_canary());
    let done = DeploymentStatusUpdate {
        deployment_id: "d1".into(),
        status: DeploymentStatus::Successful,
        ..Default::default()
    };
    let done = DeploymentStatusChange { update: done, job: None, eval: None, now: 1 };
    ok(&mut s, 15, Operation::DeploymentStatus(Box::new(done)));
    assert!(s.state().job("default", "web").unwrap().stable);
}

#[test]
fn children_are_counted_by_their_parents() {
    let mut s = new_store();
    let cron = PeriodicConfig { enabled: true, spec: "@daily".into(), ..Default::default() };
    register(&mut s, 10, Job { periodic: Some(cron), ..job("cron", JobType::Batch) }, None);
    assert_eq!(status(&s, "cron"), JobStatus::Running);
    assert_eq!(s.launch("default", "cron").unwrap().launch, Time::from_unix_nanos(5));
    let child = Job { parent_id: "cron".into(), ..job("cron/periodic-60", JobType::Batch) };
    register(&mut s, 11, child, Some(pending("e1", "cron/periodic-60")));
    assert_eq!(s.launch("default", "cron").unwrap().launch, Time::from_unix_nanos(60 * SECOND));
    let children = |s: &StateStore| s.summary("default", "cron").unwrap().children.clone().unwrap();
    assert_eq!(children(&s).pending, 1);
    place(&mut s, 12, "e1", vec![alloc("a1", "cron/periodic-60")]);
    assert_eq!((children(&s).pending, children(&s).running), (0, 1));
    let done = Evaluation { status: EvalStatus::Complete, ..pending("e1", "cron/periodic-60") };
    ok(&mut s, 13, Operation::EvalUpdate { evals: vec![done] });
    client(&mut s, 14, "a1", ClientStatus::Complete);
    assert_eq!((children(&s).running, children(&s).dead), (0, 1));
    let gone = vec![JobKey::new("default", "cron/periodic-60")];
    ok(&mut s, 15, Operation::JobBatchDeregister { jobs: gone });
    assert_eq!(children(&s).dead, 1);
}

#[test]
fn operations_survive_encoding() {
    let eval = Evaluation { wait_until: Time::from_unix_nanos(5), ..pending("e", "web") };
    let mut j = job("web", JobType::Service);
    j.task_groups[0].tasks =
        vec![Task { config: [("n".to_string(), serde_json::json!(1.5))].into(), ..Default::default() }];
    j.payload = Some(Bytes(vec![1, 2, 255]));
    let op = Operation::JobRegister(Box::new(JobRegister {
        job: Arc::new(j),
        eval: Some(eval),
        submission: Some(JobSubmission::default()),
        enforce_index: Some(0),
        now: 1,
    }));
    let bytes = codec::encode(&op).unwrap();
    let back: Operation = codec::decode(&bytes).unwrap();
    assert_eq!(format!("{op:?}"), format!("{back:?}"));
    let node = NodeRegister {
        node: Node { drivers: [("d".into(), DriverInfo::default())].into(), ..node("n") },
        create_pool: true,
        now: 1,
    };
    let op = Operation::NodeRegister(Box::new(node));
    let back: Operation = codec::decode(&codec::encode(&op).unwrap()).unwrap();
    assert_eq!(format!("{op:?}"), format!("{back:?}"));
}
