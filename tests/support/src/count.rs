//! The usage of allocations and the capacity of nodes, counted from the records alone, without the sums that the state
//! maintains. The deterministic cluster test (`server::deterministic`) uses this file, too.

use std::collections::{BTreeMap, BTreeSet};

use encamp_model::*;
use encamp_state::State;

/// What one allocation takes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Taken {
    pub cpu: i64,
    pub memory: i64,
    pub disk: i64,
    pub cores: Vec<u64>,
    /// Address, port, and whether it may be shared.
    pub ports: Vec<(String, i64, bool)>,
    /// Device group and instance.
    pub devices: Vec<(String, String)>,
    /// Bandwidth by network device.
    pub mbits: Vec<(String, i64)>,
}

/// Counts an allocation: the dearest of the three phases of its life (`docs/spec/scheduling.md §2.3`).
pub fn taken(a: &Allocation) -> Taken {
    let Some(r) = &a.allocated_resources else { return Taken::default() };
    let mut t = Taken { disk: r.shared.disk_mb, ..Default::default() };
    let phases = |name: &str| match r.task_lifecycles.get(name).and_then(|l| l.as_ref()) {
        Some(l) if l.hook == LifecycleHook::Prestart && l.sidecar => vec![0, 1],
        Some(l) if l.hook == LifecycleHook::Prestart => vec![0],
        Some(l) if l.hook == LifecycleHook::Poststop => vec![2],
        _ => vec![1],
    };
    let (mut cpu, mut memory) = ([0; 3], [0; 3]);
    for (name, task) in &r.tasks {
        let pinned = !task.cpu.reserved_cores.is_empty();
        for p in phases(name) {
            cpu[p] += if pinned { 0 } else { task.cpu.cpu_shares };
            memory[p] += task.memory.memory_mb;
        }
        if pinned {
            t.cpu += task.cpu.cpu_shares;
        }
        t.cores.extend(&task.cpu.reserved_cores);
        for d in &task.devices {
            let group = format!("{}/{}/{}", d.vendor, d.r#type, d.name);
            t.devices.extend(d.device_ids.iter().map(|id| (group.clone(), id.clone())));
        }
    }
    t.cpu += cpu.into_iter().max().unwrap_or(0);
    t.memory = memory.into_iter().max().unwrap_or(0);
    if r.shared.ports.is_empty() {
        let networks = r.shared.networks.iter().chain(r.tasks.values().filter_map(|t| t.networks.first().cloned()));
        for n in networks {
            let ports = n.reserved_ports.iter().chain(&n.dynamic_ports);
            t.ports.extend(ports.map(|p| (n.ip.clone(), p.value, p.ignore_collision)));
            t.mbits.push((n.device.clone(), n.mbits));
        }
    } else {
        t.ports = r.shared.ports.iter().map(|p| (p.host_ip, p.value, p.ignore_collision)).collect();
    }
    t
}

/// What allocations can have of a node.
#[derive(Debug, Default)]
pub struct Room {
    pub cpu: i64,
    pub memory: i64,
    pub disk: i64,
    /// Enabled cores that are not reserved; all enabled ones if none is left (`docs/spec/scheduling.md §7.6` step 3).
    pub cores: BTreeSet<u64>,
    /// Addresses with the ports nobody can have.
    pub reserved_ports: BTreeMap<String, BTreeSet<i64>>,
    /// Healthy instances.
    pub devices: BTreeSet<(String, String)>,
    pub mbits: BTreeMap<String, i64>,
}

/// Counts a node.
pub fn room(node: &Node) -> Room {
    let Some(r) = &node.node_resources else { return Room::default() };
    let kept = node.reserved_resources.clone().unwrap_or_default();
    let mut out = Room {
        memory: r.memory.memory_mb - kept.memory.memory_mb,
        disk: r.disk.disk_mb - kept.disk.disk_mb,
        ..Default::default()
    };
    let speed = |c: &Core| [c.base_speed, c.max_speed, c.guess_speed].into_iter().find(|s| *s > 0).unwrap_or(0) as i64;
    let enabled: BTreeSet<u64> = match &r.processors.topology {
        Some(t) => {
            let all: i64 = t.cores.iter().map(speed).sum();
            out.cpu = if t.override_total_compute > 0 { t.override_total_compute as i64 } else { all };
            t.cores.iter().filter(|c| !c.disable).map(|c| c.id).collect()
        }
        None => {
            out.cpu = r.cpu.cpu_shares;
            let listed: BTreeSet<u64> = r.cpu.reservable_cpu_cores.iter().copied().collect();
            if listed.is_empty() { (0..r.cpu.total_cpu_cores).collect() } else { listed }
        }
    };
    out.cpu -= kept.cpu.cpu_shares;
    out.cores = enabled.iter().copied().filter(|c| !kept.cpu.reserved_cpu_cores.contains(c)).collect();
    if out.cores.is_empty() {
        out.cores = enabled;
    }
    let everywhere = port_list(&kept.networks.reserved_host_ports);
    for n in r.networks.iter().filter(|n| !n.device.is_empty()) {
        out.reserved_ports.entry(n.ip.clone()).or_default().extend(&everywhere);
        out.mbits.insert(n.device.clone(), n.mbits);
    }
    for a in r.node_networks.iter().flatten().flat_map(|n| &n.addresses) {
        let ports = out.reserved_ports.entry(a.address.clone()).or_default();
        ports.extend(&everywhere);
        ports.extend(port_list(&a.reserved_ports));
    }
    for d in &r.devices {
        let group = format!("{}/{}/{}", d.vendor, d.r#type, d.name);
        let healthy = d.instances.iter().filter(|i| i.healthy);
        out.devices.extend(healthy.map(|i| (group.clone(), i.id.clone())));
    }
    out
}

fn port_list(text: &str) -> BTreeSet<i64> {
    let number = |s: &str| s.trim().parse::<i64>().expect("a port");
    text.split(',')
        .filter(|part| !part.trim().is_empty())
        .flat_map(|part| {
            part.split_once('-').map_or_else(|| number(part)..=number(part), |(a, b)| number(a)..=number(b))
        })
        .collect()
}

/// Allocations have more of a node than there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Overcommitted {
    #[error("{used} of {has} {what} are given away")]
    Amount { what: &'static str, used: i64, has: i64 },
    #[error("{thing} belongs to allocations {} and {}", allocs[0], allocs[1])]
    Shared { thing: String, allocs: [String; 2] },
    #[error("port {port} of allocation {alloc} is reserved")]
    Reserved { port: String, alloc: String },
    #[error("core {core} of allocation {alloc} is not available")]
    Missing { core: u64, alloc: String },
}

/// Nobody has more of a node than there is, and nothing belongs to two. Allocations that are to stop do not count,
/// though they may still run (`docs/spec/server.md §7.4`).
pub fn within_capacity(state: &State, id: &str) -> Result<(), Overcommitted> {
    let Some(node) = state.node(id).map(|n| n.node.clone()) else { return Ok(()) };
    let live: Vec<_> = state.allocs_of_node(id).iter().map(|e| e.alloc.clone()).filter(|a| !a.terminal()).collect();
    let (room, uses) = (room(&node), live.iter().map(|a| taken(a)).collect::<Vec<_>>());
    for (what, used, has) in [
        ("cpu", uses.iter().map(|t| t.cpu).sum::<i64>(), room.cpu),
        ("memory", uses.iter().map(|t| t.memory).sum(), room.memory),
        ("disk", uses.iter().map(|t| t.disk).sum(), room.disk),
    ] {
        if used > has {
            return Err(Overcommitted::Amount { what, used, has });
        }
    }
    let mut holders: BTreeMap<String, &str> = BTreeMap::new();
    for (a, t) in live.iter().zip(&uses) {
        let cores = t.cores.iter().map(|c| format!("core {c}"));
        let devices = t.devices.iter().map(|(group, id)| format!("device {group} {id}"));
        let ports = t.ports.iter().filter(|(_, _, shared)| !shared).map(|(ip, port, _)| format!("port {ip}:{port}"));
        for thing in cores.chain(devices).chain(ports) {
            if let Some(other) = holders.insert(thing.clone(), &a.id) {
                return Err(Overcommitted::Shared { thing, allocs: [other.to_string(), a.id.to_string()] });
            }
        }
        for (ip, port, _) in &t.ports {
            if room.reserved_ports.get(ip).is_some_and(|r| r.contains(port)) {
                return Err(Overcommitted::Reserved { port: format!("{ip}:{port}"), alloc: a.id.to_string() });
            }
        }
        if let Some(core) = t.cores.iter().find(|c| !room.cores.contains(c)) {
            return Err(Overcommitted::Missing { core: *core, alloc: a.id.to_string() });
        }
    }
    Ok(())
}
