//! No plan gives away more than a node has (`spec/scheduling.md §2.3, 7.2-7.6`).
//!
//! Everything is counted here from the records alone, without the sums the state keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use encamp::model::*;
use encamp::state::State;

use super::Verdict;

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

/// Counts an allocation: the dearest of the three phases of its life (`§2.3`).
pub fn taken(a: &Allocation) -> Taken {
    let Some(r) = &a.allocated_resources else { return Taken::default() };
    let mut t = Taken { disk: r.shared.disk_mb, ..Default::default() };
    let phases = |name: &str| match r.task_lifecycles.get(name).and_then(|l| l.as_ref()) {
        Some(l) if l.hook == "prestart" && l.sidecar => vec![0, 1],
        Some(l) if l.hook == "prestart" => vec![0],
        Some(l) if l.hook == "poststop" => vec![2],
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
        let networks = r.shared.networks.iter().chain(r.tasks.values().filter_map(|t| t.networks.first()));
        for n in networks {
            let ports = n.reserved_ports.iter().chain(&n.dynamic_ports);
            t.ports.extend(ports.map(|p| (n.ip.clone(), p.value, p.ignore_collision)));
            t.mbits.push((n.device.clone(), n.mbits));
        }
    } else {
        t.ports = r.shared.ports.iter().map(|p| (p.host_ip.clone(), p.value, p.ignore_collision)).collect();
    }
    t
}

/// What allocations can have of a node.
#[derive(Debug, Default)]
pub struct Room {
    pub cpu: i64,
    pub memory: i64,
    pub disk: i64,
    /// Enabled cores that are not reserved; all enabled ones if none is left (`§7.6` step 3).
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
    for a in r.node_networks.iter().flat_map(|n| &n.addresses) {
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

/// The allocations of a node that hold something once the plan is applied.
pub fn after(before: &State, plan: &Plan, node: &str) -> Vec<Arc<Allocation>> {
    let gone = [&plan.node_update, &plan.node_preemptions];
    let gone: BTreeSet<&str> = gone.iter().flat_map(|m| m.get(node)).flatten().map(|a| a.id.as_str()).collect();
    let planned: Vec<Arc<Allocation>> = plan.node_allocation.get(node).into_iter().flatten().cloned().collect();
    let stored = before.node(node).into_iter().flat_map(|n| &n.allocs).map(|e| e.alloc.clone());
    stored
        .filter(|a| !planned.iter().any(|p| p.id == a.id))
        .chain(planned.iter().cloned())
        .filter(|a| !gone.contains(a.id.as_str()) && !a.client_terminal())
        .collect()
}

/// Nodes that got new allocations have all of what they gave away; allocations that were only changed leave the room of
/// the node as it is or fit alone.
pub fn check(before: &State, plan: &Plan) -> Verdict {
    for node_id in plan.node_allocation.keys() {
        let Some(node) = before.node(node_id) else { return Err(format!("an allocation on {node_id}, which is gone")) };
        check_node(before, plan, &node.node).map_err(|e| format!("node {node_id}: {e}"))?;
    }
    Ok(())
}

fn check_node(before: &State, plan: &Plan, node: &Node) -> Verdict {
    let list = after(before, plan, &node.id);
    let (fresh, rest): (Vec<_>, Vec<_>) = list.iter().cloned().partition(|a| before.alloc(&a.id).is_none());
    if fresh.is_empty() {
        return Ok(());
    }
    let room = room(node);
    let uses: Vec<Taken> = list.iter().map(|a| taken(a)).collect();
    // Own allocations are not subtracted when preemption looks for room (§8.3), so that too little may be evicted.
    let own = |a: &Allocation| list.iter().any(|b| b.id != a.id && b.job_id == a.job_id && b.namespace == a.namespace);
    let preempted = fresh.iter().any(|a| !a.preempted_allocations.is_empty() && own(a));
    let sums = [
        ("cpu", uses.iter().map(|t| t.cpu).sum(), room.cpu),
        ("memory", uses.iter().map(|t| t.memory).sum(), room.memory),
        ("disk", uses.iter().map(|t| t.disk).sum::<i64>(), room.disk),
    ];
    if let Some((what, used, has)) = sums.into_iter().find(|(_, used, has)| used > has && !preempted) {
        return Err(format!("{used} of {has} {what}"));
    }
    let evicted = fresh.iter().any(|a| !a.preempted_allocations.is_empty());
    // The search for victims looks at resources, not at how many there are (§8.1).
    if node.node_max_allocs > 0 && list.len() as i64 > node.node_max_allocs && !evicted {
        return Err(format!("{} allocations of {}", list.len(), node.node_max_allocs));
    }
    for (i, a) in fresh.iter().enumerate() {
        let others: Vec<Taken> = fresh[..i].iter().chain(&rest).map(|a| taken(a)).collect();
        check_exclusive(&room, &taken(a), &others, evicted).map_err(|e| format!("allocation {}: {e}", a.id))?;
    }
    Ok(())
}

/// Cores, ports, device instances and bandwidth of a new allocation are the node's and nobody else's.
fn check_exclusive(room: &Room, a: &Taken, others: &[Taken], evicted: bool) -> Verdict {
    for (i, core) in a.cores.iter().enumerate() {
        if a.cores[..i].contains(core) || others.iter().any(|o| o.cores.contains(core)) {
            return Err(format!("core {core} is given twice"));
        }
        if !room.cores.contains(core) && !evicted {
            return Err(format!("core {core} is not to be had"));
        }
    }
    for (i, (ip, port, shared)) in a.ports.iter().enumerate() {
        if !(0..65536).contains(port) {
            return Err(format!("port {port} does not exist"));
        }
        if *shared {
            continue;
        }
        let same = |p: &(String, i64, bool)| p.0 == *ip && p.1 == *port;
        if a.ports[..i].iter().any(same) || others.iter().any(|o| o.ports.iter().any(same)) {
            return Err(format!("port {ip}:{port} is given twice"));
        }
        if room.reserved_ports.get(ip).is_some_and(|r| r.contains(port)) {
            return Err(format!("port {ip}:{port} is reserved"));
        }
    }
    for (i, device) in a.devices.iter().enumerate() {
        if !room.devices.contains(device) {
            return Err(format!("device {device:?} is not there or not healthy"));
        }
        if a.devices[..i].contains(device) || others.iter().any(|o| o.devices.contains(device)) {
            return Err(format!("device {device:?} is given twice"));
        }
    }
    for (device, asked) in a.mbits.iter().filter(|(d, asked)| !d.is_empty() && *asked > 0) {
        let used: i64 =
            others.iter().chain([a]).flat_map(|t| &t.mbits).filter(|(d, _)| d == device).map(|(_, m)| m).sum();
        let has = room.mbits.get(device).copied().unwrap_or(0);
        if used > has {
            return Err(format!("{used} of {has} MBit/s on {device}, {asked} asked"));
        }
    }
    Ok(())
}
