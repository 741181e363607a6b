//! Small nodes, on which every resource runs out.

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_model::random::Random;
use encamp_model::*;
use encamp_state::State;

use encamp_test_support::dice::Dice;

/// Datacenters of nodes and jobs.
pub const DATACENTERS: [&str; 3] = ["dc1", "dc2", "east-1"];
/// Node pools.
pub const POOLS: [&str; 2] = ["default", "gpu"];
/// Host volumes.
pub const VOLUMES: [&str; 2] = ["data", "logs"];

const ALGORITHMS: [SchedulerAlgorithm; 3] =
    [SchedulerAlgorithm::Binpack, SchedulerAlgorithm::Spread, SchedulerAlgorithm::Unset];

/// Nodes, pools, scheduler configuration and host volumes; `roomy`: nodes for many allocations.
pub fn cluster(random: &mut Random, roomy: bool) -> State {
    let mut state = State::new();
    if !random.one_in(4) {
        state.set_scheduler_config(Arc::new(configuration(random)));
    }
    for pool in POOLS {
        state.upsert_node_pool(Arc::new(node_pool(random, pool)));
    }
    // Plain clusters have room, so that their evaluations place much.
    let plain = roomy || random.one_in(2);
    let scale = if roomy {
        40
    } else if plain {
        8
    } else {
        1
    };
    for i in 0..random.between(1, 12) {
        let node = node(random, i, plain, scale);
        for (name, v) in node.host_volumes.iter().filter(|(_, v)| !v.id.is_empty()) {
            state.upsert_host_volume(Arc::new(host_volume(random, name, &v.id, &node.id)));
        }
        state.upsert_node(Arc::new(node));
    }
    state.index = state.index.max(20);
    state
}

/// Settings with each preemption flag drawn by itself.
pub fn configuration(random: &mut Random) -> SchedulerConfiguration {
    SchedulerConfiguration {
        scheduler_algorithm: random.of(&ALGORITHMS),
        preemption_config: PreemptionConfig {
            system_scheduler_enabled: !random.one_in(3),
            sys_batch_scheduler_enabled: random.one_in(2),
            batch_scheduler_enabled: random.one_in(2),
            service_scheduler_enabled: random.one_in(2),
        },
        memory_oversubscription_enabled: random.one_in(2),
        node_limit_for_feasibility_checks: random.of(&[0, 0, 0, 1, 3]),
        modify_index: 1,
        ..Default::default()
    }
}

fn node_pool(random: &mut Random, name: &str) -> NodePool {
    let own = NodePoolSchedulerConfiguration {
        scheduler_algorithm: random.of(&ALGORITHMS),
        memory_oversubscription_enabled: random.of(&[None, Some(true), Some(false)]),
    };
    NodePool {
        name: name.into(),
        scheduler_configuration: random.one_in(3).then_some(own),
        modify_index: 1,
        ..Default::default()
    }
}

fn host_volume(random: &mut Random, name: &str, id: &str, node: &str) -> HostVolume {
    let capability =
        |access: &str| HostVolumeCapability { access_mode: access.into(), attachment_mode: "file-system".into() };
    HostVolume {
        namespace: "default".into(),
        id: id.into(),
        name: name.into(),
        node_id: node.into(),
        state: random.text(&["ready", "ready", "ready", "pending"]).into(),
        requested_capabilities: vec![capability("single-node-writer"), capability("single-node-reader-only")],
        modify_index: 2,
        ..Default::default()
    }
}

fn node(random: &mut Random, number: i64, plain: bool, scale: i64) -> Node {
    let odd = |random: &mut Random, n: usize| !plain && random.one_in(n);
    let id = format!("{:08x}-0000-0000-0000-{number:012}", random.number() & 0xffff_ffff);
    let mut node = Node {
        name: format!("client-{number}"),
        datacenter: random.text(if plain { &DATACENTERS[..2] } else { &DATACENTERS }),
        node_pool: if odd(random, 4) { "gpu" } else { "default" }.into(),
        node_class: random.text(&["", "red", "blue"]),
        status: NodeStatus::Ready,
        scheduling_eligibility: NodeEligibility::Eligible,
        modify_index: 10 + number as u64,
        create_index: 10 + number as u64,
        ..Default::default()
    };
    node.id = id;
    condition(random, &mut node, if plain { 30 } else { 6 });
    attributes(random, &mut node);
    for driver in ["exec", "docker"] {
        if !odd(random, 8) {
            let (detected, healthy) = (!random.one_in(25), !random.one_in(25));
            node.drivers.insert(driver.into(), DriverInfo { detected, healthy, ..Default::default() });
        }
    }
    node.node_resources = Some(resources(random, plain, scale, number).into());
    node.reserved_resources = (!random.one_in(3)).then(|| NodeReservedResources {
        cpu: NodeReservedCpuResources {
            cpu_shares: random.of(&[0, 100, 500]),
            reserved_cpu_cores: random.of(&[vec![], vec![], vec![0], vec![0, 1]]),
        },
        memory: NodeReservedMemoryResources { memory_mb: random.of(&[0, 64, 256]) },
        disk: NodeReservedDiskResources { disk_mb: random.of(&[0, 100]) },
        networks: NodeReservedNetworkResources {
            reserved_host_ports: random.text(&["", "22", "22,80", "20000-20001", "8080 , 9000-9001"]),
        },
    });
    for name in VOLUMES {
        if random.one_in(3) {
            continue;
        }
        let id = if odd(random, 3) { format!("volume-{name}-{number}") } else { String::new() };
        let v =
            ClientHostVolumeConfig { name: name.to_string(), read_only: random.one_in(3), id, ..Default::default() };
        node.host_volumes.insert(name.to_string(), v);
    }
    node.node_max_allocs = if odd(random, 5) { random.between(1, 5) } else { 0 };
    // The class is what the cluster says it is, if need be the same for everybody.
    node.computed_class = if odd(random, 25) { "v1:7".into() } else { node.compute_class() };
    node
}

/// Makes a node unavailable in one of the ways there are, once in `n` times.
pub fn condition(random: &mut Random, node: &mut Node, n: usize) {
    node.status = NodeStatus::Ready;
    node.scheduling_eligibility = NodeEligibility::Eligible;
    node.drain_strategy = None;
    if !random.one_in(n) {
        return;
    }
    match random.roll(5) {
        0 => node.status = NodeStatus::Down,
        1 => node.status = NodeStatus::Disconnected,
        2 => node.status = NodeStatus::Initializing,
        3 => node.scheduling_eligibility = NodeEligibility::Ineligible,
        _ => {
            node.drain_strategy = Some(DrainStrategy::default());
            node.scheduling_eligibility = NodeEligibility::Ineligible;
        }
    }
}

fn attributes(random: &mut Random, node: &mut Node) {
    let mut set = |key: &str, value: String| drop(node.attributes.insert(key.to_string(), value));
    set("kernel.name", random.text(&["linux", "linux", "linux", "windows"]));
    set("nomad.version", random.text(&["1.12.0", "2.0.5", "2.0.5", "1.10.3"]));
    set("cpu.count", random.text(&["2", "4", "16"]));
    set("unique.hostname", node.name.clone());
    set("features", random.text(&["a", "a,b", "b, c", "a,b,c"]));
    if random.one_in(5) {
        set("driver.java", random.text(&["1", "0"]));
    }
    if !random.one_in(5) {
        node.meta.insert("rack".into(), random.text(&["r1", "r2", "r3"]));
    }
    if random.one_in(2) {
        node.meta.insert("net".into(), random.text(&["default", "public", "nowhere"]));
    }
}

fn resources(random: &mut Random, plain: bool, scale: i64, number: i64) -> NodeResources {
    let mut r = NodeResources {
        memory: NodeMemoryResources { memory_mb: scale * random.of(&[512, 1024, 2048, 4096]) },
        disk: NodeDiskResources { disk_mb: scale * random.of(&[300, 1000, 3000]) },
        ..Default::default()
    };
    if random.one_in(8) {
        r.cpu = LegacyNodeCpuResources {
            cpu_shares: scale * random.of(&[1000, 3000]),
            total_cpu_cores: 4,
            reservable_cpu_cores: random.of(&[vec![], vec![1, 2, 3]]),
        };
    } else {
        let core = |id: i64, random: &mut Random| Core {
            id: id as u64,
            disable: random.one_in(12),
            base_speed: random.of(&[0, 500, 1000]),
            guess_speed: 750,
            ..Default::default()
        };
        let cores = (0..scale.min(16) * random.between(1, 6)).map(|i| core(i, random)).collect();
        let total = if random.one_in(6) { 2500 } else { 0 };
        r.processors.topology = Some(Topology { cores, override_total_compute: total, ..Default::default() });
    }
    if random.one_in(2) {
        r.devices = (0..random.between(1, 2)).map(|n| device(random, n)).collect();
    }
    networks(random, &mut r, plain, number);
    if scale > 8 {
        (r.min_dynamic_port, r.max_dynamic_port) = (0, 0);
    }
    r
}

fn device(random: &mut Random, number: i64) -> NodeDeviceResource {
    let instance = |i: i64, random: &mut Random| NodeDevice {
        id: format!("gpu-{number}-{i}"),
        healthy: !random.one_in(6),
        ..Default::default()
    };
    let memory = Attribute { int: Some(random.of(&[8, 16])), unit: "GiB".into(), ..Default::default() };
    NodeDeviceResource {
        vendor: "nvidia".into(),
        r#type: "gpu".into(),
        name: ["t4", "a100"][number as usize].into(),
        instances: (0..random.between(1, 3)).map(|i| instance(i, random)).collect(),
        attributes: BTreeMap::from([("memory".to_string(), memory)]),
    }
}

fn networks(random: &mut Random, r: &mut NodeResources, plain: bool, number: i64) {
    let ip = format!("10.0.0.{number}");
    let network = |mode: &str, device: &str, ip: &str| NetworkResource {
        mode: mode.into(),
        device: device.into(),
        ip: ip.into(),
        cidr: if ip.is_empty() { String::new() } else { format!("{ip}/32") },
        mbits: if device.is_empty() { 0 } else { 100 },
        ..Default::default()
    };
    r.networks.push(network("host", "eth0", &ip));
    if random.one_in(3) {
        r.networks.push(network("bridge", "", ""));
    }
    let address = |alias: &str, ip: &str, reserved: String| NodeNetworkAddress {
        alias: alias.into(),
        address: ip.into(),
        reserved_ports: reserved,
        ..Default::default()
    };
    let mut addresses = Vec::new();
    if plain || !random.one_in(10) {
        addresses.push(address("default", &ip, random.text(&["", "", "8080"])));
    }
    if random.one_in(3) {
        addresses.push(address("default", &format!("fd00::{number}"), String::new()));
    }
    if random.one_in(3) {
        addresses.push(address("public", &format!("192.0.2.{number}"), random.text(&["", "443", "20000"])));
    }
    let mode = "host".to_string();
    r.node_networks.get_or_insert_default().push(NodeNetworkResource {
        mode,
        device: "eth0".into(),
        addresses,
        ..Default::default()
    });
    if !plain || random.one_in(2) {
        r.min_dynamic_port = 20_000;
        r.max_dynamic_port = 20_000 + random.of(&[0, 1, 3, 8]);
    }
}
