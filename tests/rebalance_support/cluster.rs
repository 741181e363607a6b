//! Small clusters that have become lopsided: allocations stand on nodes at random.

use std::sync::Arc;

use encamp_model::random::Random;
use encamp_model::*;
use encamp_scheduler::stack::CompiledGroup;
use encamp_state::State;

use encamp_test_support::dice::Dice;

/// The time of all cases.
pub const NOW: i64 = 1_700_000_000 * SECOND;
/// The address of a node.
const ADDRESS: &str = "10.0.0.1";

/// A node in numbers.
#[derive(Debug, Clone)]
pub struct SmallNode {
    pub cpu: i64,
    pub memory: i64,
    pub datacenter: &'static str,
    pub rack: &'static str,
}

/// A group in numbers.
#[derive(Debug, Clone)]
pub struct SmallGroup {
    pub cpu: i64,
    pub memory: i64,
    /// A static port.
    pub port: Option<i64>,
    /// One allocation on a node at most.
    pub alone: bool,
    /// It runs on nodes of this rack only.
    pub rack: Option<&'static str>,
    /// It is spread over datacenters: the percentages of the first and of the second one; none for an even spread.
    pub spread: Option<Option<(i64, i64)>>,
    /// Its disk is sticky.
    pub sticky: bool,
    /// `max_parallel` of its `migrate` block.
    pub at_once: i64,
}

/// A cluster in numbers.
#[derive(Debug, Clone)]
pub struct Small {
    pub nodes: Vec<SmallNode>,
    pub groups: Vec<SmallGroup>,
    /// Group and node of each allocation, ordered by group.
    pub allocs: Vec<(usize, usize)>,
}

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Plain,
    /// The same with small allocations and few conditions: most nodes can be emptied.
    Roomy,
    /// Most groups are spread over datacenters, without other conditions.
    Spread,
}

impl Small {
    /// Draws a cluster of at most six nodes and twenty allocations.
    pub fn draw(random: &mut Random, kind: Kind) -> Small {
        let node = |random: &mut Random| SmallNode {
            cpu: random.of(&[1500, 2000, 3000, 4000]),
            memory: random.of(&[1500, 2000, 3000, 4000]),
            datacenter: random.of(&["dc1", "dc1", "dc2"]),
            rack: random.of(&["r1", "r2"]),
        };
        let fewest = if kind == Kind::Roomy { 3 } else { 2 };
        let nodes: Vec<SmallNode> = (0..random.between(fewest, 6)).map(|_| node(random)).collect();
        let mut small = Small { nodes, groups: Vec::new(), allocs: Vec::new() };
        let most = if kind == Kind::Roomy { random.between(4, 12) } else { random.between(4, 20) } as usize;
        for _ in 0..random.between(2, 7) {
            let group = group(random, kind);
            let number = small.groups.len();
            small.groups.push(group);
            let wanted = if kind == Kind::Spread { random.between(2, 6) } else { random.between(1, 4) };
            for _ in 0..wanted {
                let open: Vec<usize> = (0..small.nodes.len()).filter(|n| small.has_room(number, *n)).collect();
                let Some(node) = random.pick(&open).copied().filter(|_| small.allocs.len() < most) else { break };
                small.allocs.push((number, node));
            }
        }
        small
    }

    fn has_room(&self, group: usize, node: usize) -> bool {
        let here = || self.allocs.iter().filter(|(_, n)| *n == node).map(|(g, _)| *g);
        let (g, n) = (&self.groups[group], &self.nodes[node]);
        here().map(|o| self.groups[o].cpu).sum::<i64>() + g.cpu <= n.cpu
            && here().map(|o| self.groups[o].memory).sum::<i64>() + g.memory <= n.memory
            && g.rack.is_none_or(|r| r == n.rack)
            && !(g.alone && here().any(|o| o == group))
            && !g.port.is_some_and(|p| here().any(|o| self.groups[o].port == Some(p)))
    }

    /// The ID of a node.
    pub fn node_id(number: usize) -> String {
        format!("0000000{number}-0000-4000-8000-00000000000{number}")
    }

    /// The job of a group.
    pub fn job(&self, number: usize) -> Job {
        let g = &self.groups[number];
        let count = self.allocs.iter().filter(|(group, _)| *group == number).count();
        job(&format!("job-{number}"), g, count as i64)
    }

    /// The cluster as servers store it.
    pub fn state(&self) -> State {
        let mut state = State::new();
        for (number, node) in self.nodes.iter().enumerate() {
            state.upsert_node(Arc::new(stored_node(node, number)));
        }
        for number in 0..self.groups.len() {
            let job = Arc::new(self.job(number));
            state.upsert_job(job.clone());
            let nodes = self.allocs.iter().filter(|(group, _)| *group == number).map(|(_, node)| *node);
            let allocs = nodes.enumerate().map(|(index, node)| Arc::new(alloc(&job, number, index, node)));
            state.upsert_allocs(allocs.collect::<Vec<_>>());
        }
        state.index = 1000;
        state
    }
}

fn group(random: &mut Random, kind: Kind) -> SmallGroup {
    let plain = kind != Kind::Spread;
    let (largest, rare) = if kind == Kind::Roomy { (6, 3) } else { (12, 1) };
    SmallGroup {
        cpu: random.between(2, largest) * 100,
        memory: random.between(1, largest) * 100,
        port: (plain && random.one_in(8 * rare)).then(|| random.of(&[8080, 9090])),
        alone: plain && random.one_in(4 * rare),
        rack: if plain && random.one_in(4 * rare) { Some(random.of(&["r1", "r2"])) } else { None },
        spread: (!plain && !random.one_in(4))
            .then(|| if random.one_in(2) { None } else { Some(random.of(&[(50, 50), (70, 30)])) }),
        sticky: kind == Kind::Plain && random.one_in(12),
        at_once: random.between(1, 3),
    }
}

/// A job as servers store it.
pub fn job(id: &str, g: &SmallGroup, count: i64) -> Job {
    let task = Task {
        name: "t".into(),
        driver: "exec".into(),
        resources: Some(Resources { cpu: g.cpu, memory_mb: g.memory, ..Default::default() }),
        ..Default::default()
    };
    let port = |value| Port { label: "http".into(), value, host_network: "default".into(), ..Default::default() };
    let network =
        |value| NetworkResource { mode: "host".into(), reserved_ports: vec![port(value)], ..Default::default() };
    let constraint =
        |l: &str, operand: &str, r: &str| Constraint { ltarget: l.into(), operand: operand.into(), rtarget: r.into() };
    let alone = g.alone.then(|| constraint("", "distinct_hosts", "true"));
    let rack = g.rack.map(|r| constraint("${meta.rack}", "=", r));
    let target = |value: &str, percent: i64| SpreadTarget { value: value.into(), percent: percent as u64 };
    let spread = g.spread.map(|targets| Spread {
        attribute: "${node.datacenter}".into(),
        weight: 50,
        spread_target: targets.map_or_else(Vec::new, |(a, b)| vec![target("dc1", a), target("dc2", b)]),
    });
    let group = TaskGroup {
        name: "g".into(),
        count,
        tasks: vec![task],
        networks: g.port.map(network).into_iter().collect(),
        constraints: alone.into_iter().chain(rack).collect(),
        spreads: spread.into_iter().collect(),
        ephemeral_disk: Some(EphemeralDisk { size_mb: 10, sticky: g.sticky, ..Default::default() }),
        migrate: Some(MigrateStrategy {
            max_parallel: g.at_once,
            health_check: "checks".into(),
            min_healthy_time: 10 * SECOND,
            healthy_deadline: 300 * SECOND,
        }),
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
        task_groups: vec![group],
        status: JobStatus::Running,
        create_index: 100,
        modify_index: 100,
        job_modify_index: 100,
        ..Default::default()
    }
}

fn stored_node(node: &SmallNode, number: usize) -> Node {
    let address = NodeNetworkAddress { alias: "default".into(), address: ADDRESS.into(), ..Default::default() };
    let resources = NodeResources {
        processors: NodeProcessorResources {
            topology: Some(Topology { override_total_compute: node.cpu as u64, ..Default::default() }),
        },
        memory: NodeMemoryResources { memory_mb: node.memory },
        disk: NodeDiskResources { disk_mb: 100_000 },
        networks: vec![NetworkResource {
            mode: "host".into(),
            device: "eth0".into(),
            ip: ADDRESS.into(),
            ..Default::default()
        }],
        node_networks: Some(vec![NodeNetworkResource {
            mode: "host".into(),
            device: "eth0".into(),
            addresses: vec![address],
            ..Default::default()
        }]),
        ..Default::default()
    };
    let mut out = Node {
        id: Small::node_id(number),
        name: format!("node-{number}"),
        datacenter: node.datacenter.into(),
        node_pool: "default".into(),
        status: NodeStatus::Ready,
        scheduling_eligibility: NodeEligibility::Eligible,
        drivers: [("exec".to_string(), DriverInfo { detected: true, healthy: true, ..Default::default() })].into(),
        meta: [("rack".to_string(), node.rack.to_string())].into(),
        node_resources: Some(resources.into()),
        create_index: 10 + number as u64,
        modify_index: 10 + number as u64,
        ..Default::default()
    };
    out.computed_class = out.compute_class();
    out
}

fn alloc(job: &Arc<Job>, group: usize, index: usize, node: usize) -> Allocation {
    let compiled = CompiledGroup::new(job, &job.task_groups[0], false);
    let mut resources = AllocatedResources::clone(&compiled.template);
    for port in job.task_groups[0].networks.iter().flat_map(|n| &n.reserved_ports) {
        let (label, value, host_ip) = (port.label.clone(), port.value, ADDRESS.to_string());
        resources.shared.ports.push(AllocatedPortMapping { label, value, host_ip, ..Default::default() });
    }
    let task = TaskState { state: TaskStatus::Running, ..Default::default() };
    Allocation {
        id: format!("0000a{group:03}-0000-4000-8000-{index:012}").into(),
        namespace: "default".into(),
        job_id: Text::from(&job.id),
        job: Some(job.clone()),
        task_group: "g".into(),
        name: format!("{}.g[{index}]", job.id).into(),
        node_id: Small::node_id(node).into(),
        node_name: format!("node-{node}").into(),
        desired_status: DesiredStatus::Run,
        client_status: ClientStatus::Running,
        allocated_resources: Some(Arc::new(resources)),
        task_states: [("t".to_string(), task)].into(),
        deployment_status: Some(Box::new(AllocDeploymentStatus { healthy: Some(true), ..Default::default() })),
        create_index: 200,
        modify_index: 200,
        alloc_modify_index: 200,
        create_time: NOW - HOUR,
        modify_time: NOW - HOUR,
        ..Default::default()
    }
}
