//! The nodes of a synthetic cluster: a few shapes, three datacenters, racks, and some draining or ineligible nodes.

use std::collections::BTreeMap;

use encamp_model::random::Random;
use encamp_model::*;

/// The properties of nodes of one class.
#[derive(Debug)]
pub struct Shape {
    /// Node class.
    pub class: &'static str,
    /// Node pool.
    pub pool: &'static str,
    /// Nodes of this class in a thousand.
    share: usize,
    /// Allocations such a node holds, compared with other classes.
    pub density: usize,
    cores: u64,
    mhz: u64,
    memory_mb: i64,
    disk_mb: i64,
    arch: &'static str,
    gpu: Option<&'static Gpu>,
    volumes: &'static [&'static str],
    ssd: bool,
}

/// A group of GPUs: `Vendor`, `Name`, memory, how many.
#[derive(Debug)]
struct Gpu {
    vendor: &'static str,
    name: &'static str,
    memory_gib: i64,
    count: usize,
}

const LARGE_GPU: Gpu = Gpu { vendor: "nvidia", name: "A100-SXM4-40GB", memory_gib: 40, count: 4 };
const SMALL_GPU: Gpu = Gpu { vendor: "amd", name: "V620", memory_gib: 32, count: 2 };

/// Positions in [`SHAPES`].
pub mod class {
    /// Most nodes.
    pub const GENERAL: usize = 0;
    /// Much memory.
    pub(crate) const MEMORY: usize = 1;
    /// Much disk, host volumes.
    pub(crate) const STORAGE: usize = 2;
    /// Many cores.
    pub(crate) const COMPUTE: usize = 3;
    /// Four large GPUs.
    pub(crate) const GPU_LARGE: usize = 4;
    /// Two small GPUs.
    pub(crate) const GPU_SMALL: usize = 5;
    /// Small machines far away.
    pub(crate) const EDGE: usize = 6;
}

/// All classes.
pub const SHAPES: [Shape; 7] = [
    Shape { class: "general", pool: "default", share: 440, density: 20, ..shape(8, 2600, 32_768, 200_000) },
    Shape { class: "memory", pool: "default", share: 130, density: 28, ssd: true, ..shape(16, 2600, 131_072, 400_000) },
    Shape {
        class: "storage",
        pool: "default",
        share: 80,
        density: 18,
        volumes: &["data", "scratch"],
        ssd: true,
        ..shape(8, 2400, 65_536, 2_000_000)
    },
    Shape { class: "compute", pool: "compute", share: 190, density: 26, ..shape(32, 3000, 131_072, 400_000) },
    Shape {
        class: "gpu-large",
        pool: "gpu",
        share: 50,
        density: 9,
        gpu: Some(&LARGE_GPU),
        ssd: true,
        ..shape(32, 2800, 262_144, 1_600_000)
    },
    Shape {
        class: "gpu-small",
        pool: "gpu",
        share: 40,
        density: 6,
        gpu: Some(&SMALL_GPU),
        ..shape(16, 2800, 65_536, 800_000)
    },
    Shape { class: "edge", pool: "edge", share: 70, density: 8, arch: "arm64", ..shape(4, 2200, 8192, 60_000) },
];

const fn shape(cores: u64, mhz: u64, memory_mb: i64, disk_mb: i64) -> Shape {
    Shape {
        class: "",
        pool: "",
        share: 0,
        density: 0,
        cores,
        mhz,
        memory_mb,
        disk_mb,
        arch: "amd64",
        gpu: None,
        volumes: &[],
        ssd: false,
    }
}

/// The datacenters, and how many of a hundred nodes each has.
pub const DATACENTERS: [(&str, u64); 3] = [("dc1", 50), ("dc2", 30), ("dc3", 20)];

/// How a node is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Ready and eligible.
    Ready,
    /// Ready, but takes nothing new.
    Ineligible,
    /// Being emptied.
    Draining,
    /// Gone; its allocations are lost.
    Down,
    /// Out of contact; what can survive that is unknown.
    Disconnected,
}

/// The class of each of `count` nodes: the shares, rounded by largest remainder, in random order.
pub fn classes(count: usize, random: &mut Random) -> Vec<usize> {
    let mut out = Vec::with_capacity(count);
    let mut rest: Vec<(usize, usize)> = Vec::new();
    for (class, shape) in SHAPES.iter().enumerate() {
        let thousandths = count.saturating_mul(shape.share);
        out.extend(std::iter::repeat_n(class, thousandths / 1000));
        rest.push((thousandths % 1000, class));
    }
    rest.sort_by_key(|(remainder, class)| (std::cmp::Reverse(*remainder), *class));
    let missing = count.saturating_sub(out.len());
    out.extend(rest.iter().cycle().take(missing).map(|(_, class)| *class));
    random.shuffle(&mut out);
    out
}

/// How each node is doing: of a hundred some two are ineligible, and one or two are draining, down, disconnected (edge
/// nodes alone) each. Small clusters have at least one of each.
pub fn conditions(classes: &[usize], random: &mut Random) -> Vec<Condition> {
    let mut out = vec![Condition::Ready; classes.len()];
    let mut order: Vec<usize> = (0..classes.len()).collect();
    random.shuffle(&mut order);
    let several = |per_mille: usize| match classes.len() {
        0..20 => 0,
        n => (n * per_mille / 1000).max(1),
    };
    for (condition, per_mille, edge_only) in [
        (Condition::Disconnected, 3, true),
        (Condition::Ineligible, 20, false),
        (Condition::Draining, 14, false),
        (Condition::Down, 14, false),
    ] {
        let free = order.iter().copied().filter(|i| out.get(*i) == Some(&Condition::Ready));
        let free = free.filter(|i| !edge_only || classes.get(*i) == Some(&class::EDGE));
        for i in free.take(several(per_mille)).collect::<Vec<_>>() {
            if let Some(c) = out.get_mut(i) {
                *c = condition;
            }
        }
    }
    out
}

/// One node.
pub fn node(number: usize, class: &Shape, condition: Condition, now: i64, random: &mut Random) -> Node {
    let (datacenter, at) = datacenter(random);
    let ip = format!("10.{}.{}.{}", at * 64 + (number >> 16), (number >> 8) & 0xff, number & 0xff);
    let name = format!("{datacenter}-{}-{number:05}", class.class);
    let index = 10 + number as u64;
    let mut node = Node {
        id: random.uuid(),
        name: name.clone(),
        datacenter: datacenter.into(),
        node_pool: class.pool.into(),
        node_class: class.class.into(),
        http_addr: format!("{ip}:4646"),
        status: NodeStatus::Ready,
        scheduling_eligibility: NodeEligibility::Eligible,
        create_index: index,
        modify_index: index,
        status_updated_at: (now / SECOND).saturating_sub(86_400 + random.below(2_000_000) as i64),
        ..Default::default()
    };
    node.attributes = attributes(class, name, &ip, random).into();
    node.meta = [("rack", format!("r{:02}", random.below(12) + 1)), ("ssd", class.ssd.to_string())]
        .into_iter()
        .map(|(k, v)| (k.to_string(), v))
        .collect();
    let healthy = DriverInfo {
        detected: true,
        healthy: true,
        health_description: "Healthy".into(),
        update_time: Time::from_unix_nanos(now - 3600 * SECOND),
        ..Default::default()
    };
    node.drivers = ["docker", "exec", "raw_exec"].map(|d| (d.to_string(), healthy.clone())).into();
    node.host_volumes = class.volumes.iter().map(|name| (name.to_string(), host_volume(name))).collect();
    node.node_resources = Some(resources(class, &ip, random).into());
    node.reserved_resources = Some(NodeReservedResources {
        cpu: NodeReservedCpuResources { cpu_shares: 200, ..Default::default() },
        memory: NodeReservedMemoryResources { memory_mb: 512 },
        disk: NodeReservedDiskResources { disk_mb: 4096 },
        networks: NodeReservedNetworkResources { reserved_host_ports: "22".into() },
    });
    node.computed_class = node.compute_class();
    apply(&mut node, condition, now, random);
    node
}

/// A datacenter, with its position in [`DATACENTERS`].
fn datacenter(random: &mut Random) -> (&'static str, usize) {
    let mut percent = random.below(100);
    let found = DATACENTERS.iter().enumerate().find_map(|(i, (name, share))| {
        let here = percent < *share;
        percent = percent.saturating_sub(*share);
        here.then_some((*name, i))
    });
    found.unwrap_or(("dc1", 0))
}

/// What a node of a class finds out about itself.
fn attributes(class: &Shape, name: String, ip: &str, random: &mut Random) -> BTreeMap<String, String> {
    let number_text = |n: u64| n.to_string();
    let attributes = [
        ("arch", class.arch.to_string()),
        ("cpu.arch", class.arch.into()),
        ("cpu.numcores", number_text(class.cores)),
        ("cpu.totalcompute", number_text(class.cores * class.mhz)),
        ("driver.docker", "1".into()),
        ("driver.docker.version", choose(random, &["27.5.1", "27.5.1", "26.1.4", "24.0.9"])),
        ("driver.exec", "1".into()),
        ("driver.raw_exec", "1".into()),
        ("kernel.name", "linux".into()),
        ("kernel.version", choose(random, &["6.8.0-52", "6.8.0-52", "5.15.0-130"])),
        ("nomad.service_discovery", "true".into()),
        ("nomad.version", choose(random, &["2.0.5", "2.0.5", "2.0.5", "2.0.4"])),
        ("os.name", "ubuntu".into()),
        ("os.signals", "SIGHUP,SIGINT,SIGKILL,SIGTERM,SIGUSR1,SIGUSR2".into()),
        ("os.version", choose(random, &["24.04", "22.04"])),
        ("plugins.cni.version.bridge", "v1.6.2".into()),
        ("plugins.cni.version.firewall", "v1.6.2".into()),
        ("plugins.cni.version.host-local", "v1.6.2".into()),
        ("plugins.cni.version.loopback", "v1.6.2".into()),
        ("plugins.cni.version.portmap", "v1.6.2".into()),
        ("unique.hostname", name),
        ("unique.network.ip-address", ip.into()),
    ];
    let mut attributes: BTreeMap<String, String> = attributes.into_iter().map(|(k, v)| (k.to_string(), v)).collect();
    if class.gpu.is_some_and(|gpu| gpu.vendor == "nvidia") {
        attributes.insert("cuda.version".into(), choose(random, &["12.4", "12.4", "11.8"]));
    }
    attributes
}

fn host_volume(name: &str) -> ClientHostVolumeConfig {
    ClientHostVolumeConfig { name: name.into(), path: format!("/srv/{name}"), ..Default::default() }
}

fn choose(random: &mut Random, words: &[&str]) -> String {
    random.pick(words).copied().unwrap_or_default().into()
}

fn resources(class: &Shape, ip: &str, random: &mut Random) -> NodeResources {
    let cores = (0..class.cores).map(|id| Core { id, grade: true, base_speed: class.mhz, ..Default::default() });
    let address =
        NodeNetworkAddress { family: "ipv4".into(), alias: "default".into(), address: ip.into(), ..Default::default() };
    NodeResources {
        cpu: LegacyNodeCpuResources {
            cpu_shares: (class.cores * class.mhz) as i64,
            total_cpu_cores: class.cores,
            reservable_cpu_cores: (0..class.cores).collect(),
        },
        processors: NodeProcessorResources {
            topology: Some(Topology {
                nodes: vec![0],
                distances: vec![vec![10]],
                cores: cores.collect(),
                ..Default::default()
            }),
        },
        memory: NodeMemoryResources { memory_mb: class.memory_mb },
        disk: NodeDiskResources { disk_mb: class.disk_mb },
        devices: class.gpu.iter().map(|gpu| gpus(gpu, random)).collect(),
        min_dynamic_port: 20_000,
        max_dynamic_port: 32_000,
        networks: vec![
            NetworkResource {
                mode: "host".into(),
                device: "eth0".into(),
                cidr: format!("{ip}/32"),
                ip: ip.into(),
                mbits: 10_000,
                ..Default::default()
            },
            NetworkResource { mode: "bridge".into(), ..Default::default() },
        ],
        node_networks: Some(vec![NodeNetworkResource {
            mode: "host".into(),
            device: "eth0".into(),
            speed: 10_000,
            addresses: vec![address],
            ..Default::default()
        }]),
    }
}

/// A group of GPUs. In a few the last one is broken.
fn gpus(gpu: &Gpu, random: &mut Random) -> NodeDeviceResource {
    let broken = random.below(40) == 0;
    let instance = |i: usize, id: String| {
        let healthy = !(broken && i + 1 == gpu.count);
        let why = if healthy { "" } else { "GPU has fallen off the bus" };
        let locality = Some(NodeDeviceLocality { pci_bus_id: format!("0000:{:02x}:00.0", 0x10 + i) });
        NodeDevice { id, healthy, health_description: why.into(), locality }
    };
    let memory = Attribute { int: Some(gpu.memory_gib), unit: "GiB".into(), ..Default::default() };
    NodeDeviceResource {
        vendor: gpu.vendor.into(),
        r#type: "gpu".into(),
        name: gpu.name.into(),
        instances: (0..gpu.count).map(|i| instance(i, format!("GPU-{}", random.uuid()))).collect(),
        attributes: [("memory".to_string(), memory)].into(),
    }
}

/// Applies the changes of a condition.
fn apply(node: &mut Node, condition: Condition, now: i64, random: &mut Random) {
    let since = now.saturating_sub((300 + random.below(3000) as i64) * SECOND);
    match condition {
        Condition::Ready => return,
        Condition::Ineligible => {}
        Condition::Draining => {
            let started_at = Time::from_unix_nanos(since);
            node.drain = true;
            node.drain_strategy = Some(DrainStrategy {
                deadline: 2 * HOUR,
                force_deadline: Time::from_unix_nanos(since.saturating_add(2 * HOUR)),
                started_at,
                ..Default::default()
            });
            node.last_drain = Some(DrainMetadata {
                started_at,
                updated_at: started_at,
                status: DrainStatus::Draining,
                ..Default::default()
            });
        }
        Condition::Down => node.status = NodeStatus::Down,
        Condition::Disconnected => node.status = NodeStatus::Disconnected,
    }
    if condition != Condition::Down && condition != Condition::Disconnected {
        node.scheduling_eligibility = NodeEligibility::Ineligible;
    }
    node.status_updated_at = since / SECOND;
}
