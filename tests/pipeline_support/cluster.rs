//! Small nodes, and jobs that request more than their capacity.

use std::collections::BTreeMap;

use encamp_model::random::Random;
use encamp_model::*;

use encamp_test_support::dice::Dice;

const PRIORITIES: [i64; 5] = [10, 30, 50, 70, 90];
const PORTS: [i64; 3] = [80, 443, 8080];

/// Generates a node. Nodes of one class differ only in their capacity.
pub fn node(random: &mut Random, number: usize) -> Node {
    let gpus = random.one_in(3);
    let ip = format!("10.0.0.{number}");
    let core = |id| Core { id, base_speed: 1000, ..Default::default() };
    let instance = |i| NodeDevice { id: format!("gpu-{number}-{i}"), healthy: true, ..Default::default() };
    let device = NodeDeviceResource {
        vendor: "nvidia".into(),
        r#type: "gpu".into(),
        name: "t4".into(),
        instances: (0..2).map(instance).collect(),
        ..Default::default()
    };
    let address = NodeNetworkAddress { alias: "default".into(), address: ip.clone(), ..Default::default() };
    let resources = NodeResources {
        processors: NodeProcessorResources {
            topology: Some(Topology {
                cores: (0..random.between(1, 4) as u64).map(core).collect(),
                ..Default::default()
            }),
        },
        memory: NodeMemoryResources { memory_mb: random.of(&[1000, 2000, 4000]) },
        disk: NodeDiskResources { disk_mb: random.of(&[1000, 3000]) },
        networks: vec![NetworkResource { mode: "host".into(), device: "eth0".into(), ip, ..Default::default() }],
        node_networks: Some(vec![NodeNetworkResource {
            mode: "host".into(),
            device: "eth0".into(),
            addresses: vec![address],
            ..Default::default()
        }]),
        devices: if gpus { vec![device] } else { Vec::new() },
        min_dynamic_port: 20_000,
        max_dynamic_port: 20_004,
        ..Default::default()
    };
    let mut node = Node {
        id: random.uuid(),
        secret_id: random.uuid().into(),
        name: format!("client-{number}"),
        datacenter: random.text(&["dc1", "dc1", "dc2"]),
        node_pool: "default".into(),
        status: random.of(&[NodeStatus::Ready, NodeStatus::Ready, NodeStatus::Initializing]),
        scheduling_eligibility: NodeEligibility::Eligible,
        drivers: [("exec".to_string(), DriverInfo { detected: true, healthy: true, ..Default::default() })].into(),
        attributes: [("driver.exec".to_string(), "1".to_string())].into(),
        node_resources: Some(resources.into()),
        reserved_resources: Some(NodeReservedResources {
            networks: NodeReservedNetworkResources { reserved_host_ports: "22".into() },
            ..Default::default()
        }),
        ..Default::default()
    };
    change_node(random, &mut node);
    node
}

/// Changes the attributes of a node, and thereby its class. Its capacity does not change.
pub fn change_node(random: &mut Random, node: &mut Node) {
    node.meta.insert("rack".into(), random.text(&["r1", "r2"]));
    node.computed_class = node.compute_class();
}

/// Generates a job in the form in which registration stores it.
pub fn job(random: &mut Random, number: usize) -> Job {
    let kind = random.of(&[
        JobType::Service,
        JobType::Service,
        JobType::Service,
        JobType::Batch,
        JobType::Batch,
        JobType::System,
        JobType::Sysbatch,
    ]);
    let id = format!("{kind}-{number}");
    let mut job = Job {
        name: id.clone(),
        id,
        namespace: random.text(&["default", "default", "other"]),
        region: "global".into(),
        priority: random.of(&PRIORITIES),
        all_at_once: random.one_in(12),
        datacenters: vec![random.text(&["*", "*", "dc1"])],
        node_pool: "default".into(),
        r#type: kind,
        ..Default::default()
    };
    let groups = random.of(&[1, 1, 2]);
    job.task_groups = (0..groups).map(|n| group(random, &job.r#type, n)).collect();
    if random.one_in(6) {
        job.constraints =
            vec![Constraint { ltarget: "${meta.rack}".into(), operand: "=".into(), rtarget: "r1".into() }];
    }
    job
}

fn group(random: &mut Random, kind: &JobType, number: usize) -> TaskGroup {
    let service = *kind == JobType::Service;
    let everywhere = matches!(kind, JobType::System | JobType::Sysbatch);
    let unlimited = service || random.one_in(2);
    TaskGroup {
        name: format!("g{number}"),
        count: if everywhere { 1 } else { random.between(1, 6) },
        ephemeral_disk: Some(EphemeralDisk { size_mb: random.of(&[10, 100, 300]), ..Default::default() }),
        constraints: if random.one_in(8) {
            vec![Constraint { operand: "distinct_hosts".into(), rtarget: "true".into(), ..Default::default() }]
        } else {
            Vec::new()
        },
        update: (service && !random.one_in(3)).then(|| update(random)),
        migrate: service.then(|| MigrateStrategy { max_parallel: random.between(1, 2), ..Default::default() }),
        reschedule_policy: (!everywhere).then(|| ReschedulePolicy {
            attempts: if unlimited { 0 } else { 2 },
            interval: if unlimited { 0 } else { HOUR },
            delay: random.of(&[5 * SECOND, 30 * SECOND]),
            delay_function: random.text(&["constant", "exponential"]),
            max_delay: HOUR,
            unlimited,
        }),
        disconnect: (!everywhere && random.one_in(4)).then(|| DisconnectStrategy {
            lost_after: random.of(&[2 * MINUTE, HOUR]),
            replace: random.of(&[None, Some(true), Some(false)]),
            reconcile: random.text(&["", "keep_original", "keep_replacement", "longest_running"]),
            ..Default::default()
        }),
        networks: network(random),
        tasks: vec![task(random)],
        ..Default::default()
    }
}

fn update(random: &mut Random) -> UpdateStrategy {
    let canary = random.of(&[0, 0, 1]);
    UpdateStrategy {
        stagger: 30 * SECOND,
        max_parallel: random.between(1, 3),
        health_check: "checks".into(),
        min_healthy_time: 10 * SECOND,
        healthy_deadline: 5 * MINUTE,
        progress_deadline: 10 * MINUTE,
        auto_revert: random.one_in(3),
        auto_promote: canary > 0 && random.one_in(2),
        canary,
    }
}

fn task(random: &mut Random) -> Task {
    let mut r =
        Resources { cpu: random.of(&[100, 250, 500]), memory_mb: random.of(&[64, 256, 512]), ..Default::default() };
    if random.one_in(8) {
        (r.cpu, r.cores) = (0, 1);
    }
    if random.one_in(8) {
        r.devices = vec![RequestedDevice { name: "gpu".into(), count: 1, ..Default::default() }];
    }
    Task {
        name: "t".into(),
        driver: "exec".into(),
        config: BTreeMap::from([("command".to_string(), "v0".into())]),
        resources: Some(r),
        ..Default::default()
    }
}

fn network(random: &mut Random) -> Vec<NetworkResource> {
    let port =
        |label: &str, value| Port { label: label.into(), value, host_network: "default".into(), ..Default::default() };
    let fixed = if random.one_in(3) { vec![port("fixed", random.of(&PORTS))] } else { Vec::new() };
    let drawn = if random.one_in(3) { vec![port("drawn", 0)] } else { Vec::new() };
    if fixed.is_empty() && drawn.is_empty() {
        return Vec::new();
    }
    vec![NetworkResource { mode: "host".into(), reserved_ports: fixed, dynamic_ports: drawn, ..Default::default() }]
}

/// Changes a registered job: its counts, its tasks, or its priority.
pub fn change_job(random: &mut Random, job: &mut Job) {
    let i = random.roll(job.task_groups.len());
    let everywhere = matches!(job.r#type, JobType::System | JobType::Sysbatch);
    match random.roll(4) {
        0 | 1 if !everywhere => job.task_groups[i].count = random.between(0, 8),
        2 => job.priority = random.of(&PRIORITIES),
        _ => {
            let v = format!("v{}", random.roll(1000));
            job.task_groups[i].tasks.iter_mut().for_each(|t| drop(t.config.insert("command".into(), v.clone().into())));
        }
    }
}
