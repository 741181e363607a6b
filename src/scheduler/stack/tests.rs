//! Searches on small clusters: what the recorded cases do not show (`spec/scheduling.md`).

use super::*;
use crate::state::State;

fn task(name: &str, resources: Resources) -> Task {
    Task { name: name.into(), driver: "exec".into(), resources: Some(resources), ..Default::default() }
}

fn job(id: &str, priority: i64, tasks: Vec<Task>) -> Job {
    let group = TaskGroup { name: "g".into(), count: 1, tasks, ..Default::default() };
    Job {
        id: id.into(),
        namespace: "default".into(),
        r#type: "service".into(),
        priority,
        node_pool: "default".into(),
        task_groups: vec![group],
        ..Default::default()
    }
}

/// A node of four cores of 1000 MHz (core 0 is reserved) with eth0 of 1000 MBit/s.
fn node() -> Node {
    let cores = (0..4).map(|id| Core { id, base_speed: 1000, ..Default::default() }).collect();
    let network = NetworkResource {
        mode: "host".into(),
        device: "eth0".into(),
        ip: "10.0.0.1".into(),
        cidr: "10.0.0.1/32".into(),
        mbits: 1000,
        ..Default::default()
    };
    let resources = NodeResources {
        processors: NodeProcessorResources { topology: Some(Topology { cores, ..Default::default() }) },
        memory: NodeMemoryResources { memory_mb: 4000 },
        disk: NodeDiskResources { disk_mb: 4000 },
        networks: vec![network],
        ..Default::default()
    };
    let cpu = NodeReservedCpuResources { reserved_cpu_cores: vec![0], ..Default::default() };
    let driver = DriverInfo { detected: true, healthy: true, ..Default::default() };
    Node {
        id: "n1".into(),
        node_resources: Some(resources),
        reserved_resources: Some(NodeReservedResources { cpu, ..Default::default() }),
        drivers: BTreeMap::from([("exec".to_string(), driver)]),
        ..Default::default()
    }
}

fn running(id: &str, job: Job, resources: AllocatedTaskResources) -> Arc<Allocation> {
    let tasks = BTreeMap::from([("t".to_string(), resources)]);
    Arc::new(Allocation {
        id: id.into(),
        namespace: job.namespace.clone(),
        node_id: "n1".into(),
        job_id: job.id.clone(),
        task_group: "g".into(),
        desired_status: "run".into(),
        client_status: "running".into(),
        allocated_resources: Some(Arc::new(AllocatedResources { tasks, ..Default::default() })),
        job: Some(Arc::new(job)),
        ..Default::default()
    })
}

/// Looks for the job's only group on the node, with preemption.
fn search(allocs: Vec<Arc<Allocation>>, job: Job) -> Selection {
    let mut state = State::new();
    state.upsert_node(Arc::new(node()));
    state.upsert_allocs(allocs);
    let state = state.snapshot();
    let job = Arc::new(job);
    let mut stack = Stack::new(StackKind::Service, state.clone());
    stack.set_job(&job);
    stack.set_nodes(state.nodes().cloned());
    let mut plan = WorkingPlan::new(&Evaluation::default(), Some(job.clone()), 0);
    let options = SelectOptions { preempt: true, ..Default::default() };
    stack.select(&mut plan, &job.task_groups[0], &options, &mut |_| 0)
}

fn victims(s: &Selection) -> Option<Vec<&str>> {
    s.option.as_ref().map(|o| o.preempted.iter().map(|v| v.alloc.id.as_str()).collect())
}

/// The lowest free core is a reserved one; no victim can make it usable (§7.5, §8.3 step 3).
#[test]
fn nobody_is_evicted_for_a_reserved_core() {
    let cpu = AllocatedCpuResources { cpu_shares: 500, ..Default::default() };
    let low =
        || running("low", job("low", 20, vec![]), AllocatedTaskResources { cpu: cpu.clone(), ..Default::default() });
    let ask = |cores| job("web", 50, vec![task("t", Resources { cores, ..Default::default() })]);
    let s = search(vec![low()], ask(1));
    assert_eq!(victims(&s), None);
    assert_eq!(s.metrics.dimension_exhausted, BTreeMap::from([("cores".to_string(), 1)]));
}

/// What an earlier task of the placement was offered is used bandwidth (§8.4 step 2).
#[test]
fn bandwidth_of_earlier_tasks_is_not_free() {
    let network = |mbits| NetworkResource { mbits, ..Default::default() };
    let low = |id: &str| {
        let networks = vec![NetworkResource { device: "eth0".into(), ip: "10.0.0.1".into(), ..network(300) }];
        running(id, job(id, 20, vec![]), AllocatedTaskResources { networks, ..Default::default() })
    };
    let ask = |name: &str| task(name, Resources { networks: vec![network(400)], ..Default::default() });
    let s = search(vec![low("a"), low("b")], job("web", 50, vec![ask("t1"), ask("t2")]));
    assert_eq!(victims(&s), Some(vec!["a", "b"]));
}

/// The flag of blocked evaluations covers groups that were not looked at (§5.4).
#[test]
fn any_group_of_the_job_makes_it_escaped() {
    let mut web = job("web", 50, vec![]);
    let unique = Constraint { ltarget: "${node.unique.name}".into(), operand: "is_set".into(), ..Default::default() };
    let task = Task { constraints: vec![unique], ..Default::default() };
    web.task_groups.push(TaskGroup { name: "other".into(), tasks: vec![task], ..Default::default() });
    let mut stack = Stack::new(StackKind::System, State::new().snapshot());
    stack.set_job(&Arc::new(job("web", 50, vec![])));
    assert!(!stack.escaped());
    web.version = 1;
    stack.set_job(&Arc::new(web));
    assert!(stack.escaped());
}
