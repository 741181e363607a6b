//! Hand-written bad plans, each of which a rule has to refuse: this proves that the rules can fail.

use std::sync::Arc;

use encamp_model::*;
use encamp_scheduler::NodeOrder;
use encamp_state::State;

use super::apply::{Outcome, Terms, run};
use encamp_test_support::count;

use super::{again, capacity, eligible, order, preemption};

fn node(id: &str) -> Node {
    let core = |id| Core { id, base_speed: 1000, ..Default::default() };
    let device = NodeDeviceResource {
        vendor: "v".into(),
        r#type: "gpu".into(),
        name: "n".into(),
        instances: vec![
            NodeDevice { id: "ill".into(), ..Default::default() },
            NodeDevice { id: "well".into(), healthy: true, ..Default::default() },
        ],
        ..Default::default()
    };
    let address = NodeNetworkAddress { alias: "default".into(), address: "10.0.0.1".into(), ..Default::default() };
    let resources = NodeResources {
        processors: NodeProcessorResources {
            topology: Some(Topology { cores: (0..4).map(core).collect(), ..Default::default() }),
        },
        memory: NodeMemoryResources { memory_mb: 1000 },
        disk: NodeDiskResources { disk_mb: 1000 },
        devices: vec![device],
        networks: vec![NetworkResource {
            mode: "host".into(),
            device: "eth0".into(),
            mbits: 100,
            ..Default::default()
        }],
        node_networks: Some(vec![NodeNetworkResource { addresses: vec![address], ..Default::default() }]),
        ..Default::default()
    };
    let reserved = NodeReservedResources {
        networks: NodeReservedNetworkResources { reserved_host_ports: "22".into() },
        cpu: NodeReservedCpuResources { cpu_shares: 0, reserved_cpu_cores: vec![3] },
        ..Default::default()
    };
    let mut n = Node {
        id: id.into(),
        datacenter: "dc1".into(),
        node_pool: "default".into(),
        status: NodeStatus::Ready,
        scheduling_eligibility: NodeEligibility::Eligible,
        node_resources: Some(resources.into()),
        reserved_resources: Some(reserved),
        node_max_allocs: 3,
        ..Default::default()
    };
    n.drivers.insert("exec".into(), DriverInfo { detected: true, healthy: true, ..Default::default() });
    n.computed_class = n.compute_class();
    n
}

fn job(id: &str, priority: i64) -> Job {
    let resources = Resources { cpu: 100, memory_mb: 100, ..Default::default() };
    let task = Task { name: "t".into(), driver: "exec".into(), resources: Some(resources), ..Default::default() };
    let group = TaskGroup { name: "g".into(), count: 2, tasks: vec![task], ..Default::default() };
    Job {
        id: id.into(),
        namespace: "default".into(),
        r#type: JobType::Service,
        priority,
        datacenters: vec!["dc1".into()],
        node_pool: "default".into(),
        task_groups: vec![group],
        ..Default::default()
    }
}

fn alloc(id: &str, job: &Job) -> Allocation {
    let mut task = AllocatedTaskResources::default();
    (task.cpu.cpu_shares, task.memory.memory_mb) = (100, 100);
    let tasks = [("t".to_string(), task)].into();
    Allocation {
        id: id.into(),
        namespace: Text::from(&job.namespace),
        name: format!("{}.g[0]", job.id).into(),
        node_id: "n1".into(),
        job_id: Text::from(&job.id),
        job: Some(Arc::new(job.clone())),
        task_group: "g".into(),
        allocated_resources: Some(Arc::new(AllocatedResources { tasks, ..Default::default() })),
        desired_status: DesiredStatus::Run,
        client_status: ClientStatus::Running,
        ..Default::default()
    }
}

/// A state with one node, an allocation `old` of a job of priority 20 and a job `web` of priority 50.
fn state() -> State {
    let mut s = State::new();
    s.upsert_node(Arc::new(node("n1")));
    s.upsert_job(Arc::new(job("low", 20)));
    s.upsert_job(Arc::new(job("web", 50)));
    s.upsert_allocs([Arc::new(alloc("old", &job("low", 20)))]);
    s
}

fn plan(allocs: Vec<Allocation>) -> Plan {
    let mut p = Plan { job: Some(Arc::new(job("web", 50))), ..Default::default() };
    for a in allocs {
        p.node_allocation.entry(a.node_id.to_string()).or_default().push(Arc::new(a));
    }
    p
}

/// A new allocation with changed resources.
fn with(id: &str, change: impl FnOnce(&mut AllocatedResources, &mut AllocatedTaskResources)) -> Allocation {
    let mut a = alloc(id, &job("web", 50));
    let mut r = a.allocated_resources.take().map(Arc::unwrap_or_clone).expect("resources");
    let mut t = r.tasks.remove("t").expect("a task");
    change(&mut r, &mut t);
    r.tasks.insert("t".into(), t);
    a.allocated_resources = Some(Arc::new(r));
    a
}

fn refused(verdict: super::Verdict, words: &str) {
    let e = verdict.expect_err(words);
    assert!(e.contains(words), "{e:?} does not say {words:?}");
}

fn port(value: i64) -> AllocatedPortMapping {
    AllocatedPortMapping { value, host_ip: "10.0.0.1".into(), ..Default::default() }
}

fn device(id: &str) -> AllocatedDeviceResource {
    AllocatedDeviceResource { vendor: "v".into(), r#type: "gpu".into(), name: "n".into(), device_ids: vec![id.into()] }
}

#[test]
fn too_much_on_a_node_is_noticed() {
    let check = |allocs| capacity::check(&state(), &plan(allocs));
    assert_eq!(check(vec![with("a", |_, _| ())]), Ok(()));
    refused(check(vec![with("a", |_, t| t.cpu.cpu_shares = 3901)]), "4001 of 4000 cpu");
    refused(check(vec![with("a", |_, t| t.memory.memory_mb = 901)]), "1001 of 1000 memory");
    refused(check(vec![with("a", |r, _| r.shared.disk_mb = 1001)]), "1001 of 1000 disk");
    let many = (0..3).map(|i| with(&format!("a{i}"), |_, _| ())).collect();
    refused(check(many), "4 allocations of 3");
    let core = |id: &str, core: u64| with(id, |_, t| t.cpu.reserved_cores = vec![core]);
    assert_eq!(check(vec![core("a", 1), core("b", 2)]), Ok(()));
    refused(check(vec![core("a", 1), core("b", 1)]), "core 1 is given twice");
    refused(check(vec![core("a", 3)]), "core 3 is not available");
    let ports = |id: &str, list: Vec<i64>| with(id, |r, _| r.shared.ports = list.into_iter().map(port).collect());
    assert_eq!(check(vec![ports("a", vec![80]), ports("b", vec![81])]), Ok(()));
    refused(check(vec![ports("a", vec![80]), ports("b", vec![80])]), "10.0.0.1:80 is given twice");
    refused(check(vec![ports("a", vec![80, 80])]), "10.0.0.1:80 is given twice");
    refused(check(vec![ports("a", vec![22])]), "10.0.0.1:22 is reserved");
    refused(check(vec![ports("a", vec![65536])]), "port 65536 does not exist");
    let devices = |id: &str, d: &str| with(id, |_, t| t.devices = vec![device(d)]);
    assert_eq!(check(vec![devices("a", "well")]), Ok(()));
    refused(check(vec![devices("a", "well"), devices("b", "well")]), "is given twice");
    refused(check(vec![devices("a", "ill")]), "not healthy");
    let network = |mbits| NetworkResource { device: "eth0".into(), mbits, ..Default::default() };
    refused(check(vec![with("a", |_, t| t.networks = vec![network(101)])]), "MBit/s on eth0, 101 asked");
    let mut elsewhere = with("a", |_, _| ());
    elsewhere.node_id = "n9".into();
    refused(check(vec![elsewhere]), "n9, which is gone");
}

#[test]
fn a_prestart_task_counts_beside_the_main_ones_not_with_them() {
    use LifecycleHook::{Poststart, Poststop, Prestart};
    let phase = |hook, sidecar| Some(TaskLifecycleConfig { hook, sidecar });
    let count = |lifecycle: Option<TaskLifecycleConfig>| {
        let a = with("a", |r, t| {
            r.tasks.insert("other".into(), t.clone());
            r.task_lifecycles.insert("other".into(), lifecycle);
        });
        count::taken(&a).cpu
    };
    assert_eq!((count(None), count(phase(Prestart, false)), count(phase(Prestart, true))), (200, 100, 200));
    assert_eq!((count(phase(Poststart, false)), count(phase(Poststop, false))), (200, 100));
}

#[test]
fn nodes_a_job_may_not_use_are_noticed() {
    let on = |change: &dyn Fn(&mut Node)| {
        let (mut s, mut n) = (state(), node("n1"));
        change(&mut n);
        n.computed_class = n.compute_class();
        s.upsert_node(Arc::new(n));
        eligible::check(&s, &plan(vec![with("a", |_, _| ())]))
    };
    assert_eq!(on(&|_| ()), Ok(()));
    refused(on(&|n| n.status = NodeStatus::Down), "down");
    refused(on(&|n| n.scheduling_eligibility = NodeEligibility::Ineligible), "ineligible");
    refused(on(&|n| n.drain_strategy = Some(DrainStrategy::default())), "ready");
    refused(on(&|n| n.node_pool = "other".into()), "other");
    refused(on(&|n| n.datacenter = "dc2".into()), "dc2");
    refused(on(&|n| drop(n.drivers.remove("exec"))), "no driver exec");
    let asks = |change: &dyn Fn(&mut Job)| {
        let mut j = job("web", 50);
        change(&mut j);
        let mut a = with("a", |_, _| ());
        a.job = Some(Arc::new(j));
        let mut twin = a.clone();
        twin.id = "b".into();
        eligible::check(&state(), &plan(vec![a, twin]))
    };
    let constraint = |l: &str, o: &str, r: &str| Constraint { ltarget: l.into(), operand: o.into(), rtarget: r.into() };
    assert_eq!(asks(&|_| ()), Ok(()));
    refused(asks(&|j| j.constraints = vec![constraint("${attr.x}", "=", "1")]), "violates ${attr.x} = 1");
    refused(asks(&|j| j.task_groups[0].tasks[0].constraints = vec![constraint("${meta.x}", "is_set", "")]), "violates");
    refused(asks(&|j| j.constraints = vec![constraint("", "distinct_hosts", "")]), "shares its node");
    refused(
        asks(&|j| j.task_groups[0].constraints = vec![constraint("", "distinct_hosts", "true")]),
        "shares its node",
    );
    let volume = VolumeRequest { r#type: "host".into(), source: "data".into(), ..Default::default() };
    refused(asks(&|j| j.task_groups[0].volumes = Some([("v".into(), volume.clone())].into())), "no host volume data");
    let ask = RequestedDevice { name: "gpu".into(), count: 1, ..Default::default() };
    let with_device = |j: &mut Job| {
        j.task_groups[0].tasks[0].resources.iter_mut().for_each(|r| r.devices = vec![ask.clone()]);
    };
    refused(asks(&with_device), "asked for 1 devices and got 0");
}

/// A plan in which `a` evicts `old`.
fn evicting(victim_node: &str) -> Plan {
    let mut a = with("a", |_, _| ());
    a.preempted_allocations = ["old".into()].into();
    let mut p = plan(vec![a]);
    let victim = Allocation { id: "old".into(), preempted_by_allocation: "a".into(), ..Default::default() };
    p.node_preemptions.insert(victim_node.into(), vec![Arc::new(victim)]);
    p
}

#[test]
fn evictions_against_the_rules_are_noticed() {
    let s = state();
    assert_eq!(preemption::check(&s, &evicting("n1"), &JobType::Service), Ok(()));
    refused(preemption::check(&s, &evicting("n2"), &JobType::Service), "is on node n1");
    let mut close = state();
    close.upsert_allocs([Arc::new(alloc("old", &job("low", 41)))]);
    refused(preemption::check(&close, &evicting("n1"), &JobType::Service), "has priority 41");
    let mut off = state();
    let flags = PreemptionConfig { batch_scheduler_enabled: true, ..Default::default() };
    off.set_scheduler_config(Arc::new(SchedulerConfiguration { preemption_config: flags, ..Default::default() }));
    refused(preemption::check(&off, &evicting("n1"), &JobType::Service), "may not preempt");
    assert_eq!(preemption::check(&off, &evicting("n1"), &JobType::Batch), Ok(()));
    let mut over = state();
    over.upsert_allocs([Arc::new(Allocation { client_status: ClientStatus::Failed, ..alloc("old", &job("low", 20)) })]);
    refused(preemption::check(&over, &evicting("n1"), &JobType::Service), "is over already");
    let mut stopped = evicting("n1");
    stopped.node_update.insert("n1".into(), vec![Arc::new(alloc("old", &job("low", 20)))]);
    refused(preemption::check(&s, &stopped, &JobType::Service), "is stopped too");
    let mut twice = evicting("n1");
    let again = Allocation { id: "old".into(), preempted_by_allocation: "b".into(), ..Default::default() };
    twice.node_preemptions.entry("n1".into()).or_default().push(Arc::new(again));
    twice.node_allocation.entry("n1".into()).or_default().push(Arc::new(with("b", |_, _| ())));
    refused(preemption::check(&s, &twice, &JobType::Service), "victim old of a and b");
    let mut named_twice = evicting("n1");
    let mut a = with("a", |_, _| ());
    a.preempted_allocations = ["old".into(), "old".into()].into();
    named_twice.node_allocation.insert("n1".into(), vec![Arc::new(a)]);
    refused(preemption::check(&s, &named_twice, &JobType::Service), "evicts old 2 times");
    let mut unlisted = evicting("n1");
    unlisted.node_preemptions.insert("n1".into(), vec![]);
    refused(preemption::check(&s, &unlisted, &JobType::Service), "does not evict for it");
}

fn evaluation() -> Evaluation {
    Evaluation {
        id: "00000000-0000-0000-0000-000000000001".into(),
        namespace: "default".into(),
        r#type: JobType::Service,
        triggered_by: EvalTrigger::JobRegister,
        job_id: "web".into(),
        status: EvalStatus::Pending,
        ..Default::default()
    }
}

#[test]
fn unfinished_plans_are_noticed() {
    let (s, eval) = (state(), evaluation());
    let terms = Terms { now: SECOND, seed: 1, order: NodeOrder::Shuffle };
    let whole = run(&s.snapshot(), &eval, &terms).expect("a plan");
    let web = job("web", 50);
    assert_eq!(again::check(&s, &web, &eval, &terms, &whole), Ok(true));
    let mut half = whole.clone();
    half.plan.node_allocation.values_mut().for_each(|list| drop(list.pop()));
    let e = again::check(&s, &web, &eval, &terms, &half).expect_err("one is missing");
    assert!(e.contains("the second time"), "{e}");
}

#[test]
fn different_outcomes_are_noticed() {
    let (s, eval) = (state(), evaluation());
    let terms = Terms { now: SECOND, seed: 1, order: NodeOrder::Shuffle };
    let one = run(&s.snapshot(), &eval, &terms).expect("a plan");
    assert_eq!(order::same(&one, &one.clone()), Ok(()));
    let mut moved = one.clone();
    let list = moved.plan.node_allocation.remove("n1").expect("placed on n1");
    moved.plan.node_allocation.insert("n2".into(), list);
    refused(order::same(&one, &moved), "other allocations");
    refused(order::same(&one, &Outcome { updated: Vec::new(), ..one.clone() }), "other evaluation");
    let mut counted = one.clone();
    for list in counted.plan.node_allocation.values_mut() {
        let a = Arc::make_mut(&mut list[0]);
        let mut metrics = a.metrics.as_ref().expect("metrics").unpack();
        metrics.nodes_evaluated += 1;
        a.metrics = Some(metrics.into());
    }
    refused(order::same(&one, &counted), "other allocations");
}
