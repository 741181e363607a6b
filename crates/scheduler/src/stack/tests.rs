//! Searches on small clusters: cases that the recorded ones do not cover (`docs/spec/scheduling.md`).

use super::*;
use encamp_model::random::Random;
use encamp_state::{AllocUsage, State};

fn task(name: &str, resources: Resources) -> Task {
    Task { name: name.into(), driver: "exec".into(), resources: Some(resources), ..Default::default() }
}

fn job(id: &str, priority: i64, tasks: Vec<Task>) -> Job {
    let group = TaskGroup { name: "g".into(), count: 1, tasks, ..Default::default() };
    Job {
        id: id.into(),
        namespace: "default".into(),
        r#type: JobType::Service,
        priority,
        node_pool: "default".into(),
        task_groups: vec![group],
        ..Default::default()
    }
}

fn gpus(name: &str, count: usize) -> NodeDeviceResource {
    let instance = |i: usize| NodeDevice { id: format!("{name}{i}"), healthy: true, ..Default::default() };
    let instances = (1..=count).map(instance).collect();
    NodeDeviceResource { vendor: "x".into(), r#type: "gpu".into(), name: name.into(), instances, ..Default::default() }
}

/// A node of four cores of 1000 MHz (core 0 is reserved) with eth0 of 1000 MBit/s, four gpus A and two gpus B.
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
        devices: vec![gpus("A", 4), gpus("B", 2)],
        ..Default::default()
    };
    let cpu = NodeReservedCpuResources { reserved_cpu_cores: vec![0], ..Default::default() };
    let driver = DriverInfo { detected: true, healthy: true, ..Default::default() };
    Node {
        id: "n1".into(),
        node_resources: Some(resources.into()),
        reserved_resources: Some(NodeReservedResources { cpu, ..Default::default() }),
        drivers: [("exec".to_string(), driver)].into(),
        ..Default::default()
    }
}

fn running(id: &str, job: Job, resources: AllocatedTaskResources) -> Arc<Allocation> {
    let tasks = SortedMap::from([("t".to_string(), resources)]);
    Arc::new(Allocation {
        id: id.into(),
        namespace: Text::from(&job.namespace),
        node_id: "n1".into(),
        job_id: Text::from(&job.id),
        task_group: "g".into(),
        desired_status: DesiredStatus::Run,
        client_status: ClientStatus::Running,
        allocated_resources: Some(Arc::new(AllocatedResources { tasks: tasks.into(), ..Default::default() })),
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
    stack.set_nodes(state.nodes().map(|n| n.slot).collect());
    let mut plan = WorkingPlan::new(&Evaluation::default(), Some(job.clone()), state.clone(), 0);
    let options = SelectOptions { preempt: true, ..Default::default() };
    stack.select(&mut plan, &job.task_groups[0], &options, &mut |_| 0)
}

fn victims(s: &Selection) -> Option<Vec<&str>> {
    s.option.as_ref().map(|o| o.preempted.iter().map(|v| v.alloc.id.as_str()).collect())
}

/// The lowest free core is a reserved one; no victim can make it usable (`docs/spec/scheduling.md §7.5, §8.3` step 3).
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

/// Bandwidth that was offered to an earlier task of the placement counts as used (`docs/spec/scheduling.md §8.4` step
/// 2).
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

/// The flag of blocked evaluations covers groups that were not considered (`docs/spec/scheduling.md §5.4`).
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

/// The walk of `docs/spec/scheduling.md §13.7`.
#[test]
fn bandwidth_is_freed_by_distance() {
    let network = |mbits| NetworkResource { mbits, ..Default::default() };
    let holder = |id: &str, priority, mbits| {
        let networks = vec![NetworkResource { device: "eth0".into(), ip: "10.0.0.1".into(), ..network(mbits) }];
        running(id, job(id, priority, vec![]), AllocatedTaskResources { networks, ..Default::default() })
    };
    let full = || vec![holder("a", 20, 300), holder("b", 20, 500), holder("c", 30, 200)];
    let ask =
        |mbits| job("web", 50, vec![task("t", Resources { networks: vec![network(mbits)], ..Default::default() })]);
    assert_eq!(victims(&search(full(), ask(100))), Some(vec!["a"]));
    assert_eq!(victims(&search(full(), ask(600))), Some(vec!["a", "b"]));
    assert_eq!(victims(&search(full(), ask(900))), Some(vec!["c", "a", "b"]));
    // The nearer one suffices alone.
    assert_eq!(victims(&search(vec![holder("a", 20, 100), holder("b", 20, 900)], ask(800))), Some(vec!["b"]));
}

/// The options of `docs/spec/scheduling.md §13.9`: the group whose victims have the smaller sum of distinct priorities.
#[test]
fn devices_are_freed_by_priority() {
    let holder = |id: &str, priority, name: &str, ids: &[&str]| {
        let device_ids = ids.iter().map(|i| i.to_string()).collect();
        let device =
            AllocatedDeviceResource { vendor: "x".into(), r#type: "gpu".into(), name: name.into(), device_ids };
        running(id, job(id, priority, vec![]), AllocatedTaskResources { devices: vec![device], ..Default::default() })
    };
    let b = || holder("b", 25, "B", &["B1", "B2"]);
    let request = RequestedDevice { name: "gpu".into(), count: 2, ..Default::default() };
    let ask = || job("web", 75, vec![task("t", Resources { devices: vec![request.clone()], ..Default::default() })]);
    let check = |a: Vec<Arc<Allocation>>, want: &[&str]| {
        let s = search(a.into_iter().chain([b()]).collect(), ask());
        assert_eq!(victims(&s), Some(want.to_vec()));
    };
    check(vec![holder("a10", 10, "A", &["A1", "A2"]), holder("a20", 20, "A", &["A3", "A4"])], &["a10"]);
    check(vec![holder("a10", 10, "A", &["A1"]), holder("a20", 20, "A", &["A2", "A3", "A4"])], &["a20"]);
    let rest = || holder("a70", 70, "A", &["A3", "A4"]);
    check(vec![holder("a10", 10, "A", &["A1"]), holder("a20", 20, "A", &["A2"]), rest()], &["b"]);
    // Equal priorities count once.
    check(vec![holder("a1", 20, "A", &["A1"]), holder("a2", 20, "A", &["A2"]), rest()], &["a1", "a2"]);
}

#[test]
fn a_summary_lacks_what_the_fit_lacks() {
    let mut random = Random::new(1, "summaries of nodes");
    let mut lacking: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..3000 {
        let mut state = State::new();
        let mut node = node();
        node.node_max_allocs = [0, 0, 0, 2][random.below(4) as usize];
        state.upsert_node(Arc::new(node));
        for i in 0..random.below(3) {
            let mut used = AllocatedTaskResources::default();
            used.cpu.cpu_shares = [100, 2000, i64::MAX][random.below(3) as usize];
            used.memory.memory_mb = [100, 2000, 5000][random.below(3) as usize];
            used.cpu.reserved_cores = if random.below(4) == 0 { vec![1 + random.below(2)] } else { Vec::new() };
            state.upsert_allocs([running(&format!("a{i}"), job("j", 50, Vec::new()), used)]);
        }
        let mut amount = || [0, 1000, 3000, i64::MAX][random.below(4) as usize];
        let ask = AllocUsage { cpu: amount(), memory: amount(), disk: amount(), ..AllocUsage::default() };
        let entry = state.node("n1").expect("the node");
        let summary = state.node_summary(entry.slot).expect("its summary");
        if let Some(dimension) = summary.lacks(&ask, 0) {
            assert_eq!(crate::fit::fits(&entry.info, &entry.usage, &ask).1, Err(dimension), "{entry:?} {ask:?}");
            *lacking.entry(dimension).or_default() += 1;
            assert_eq!(summary.lacks(&ask, 12_000), None, "so many ports may decide before");
        }
    }
    assert!(lacking.len() == 3 && lacking.values().all(|n| *n > 50), "{lacking:?}");
}
