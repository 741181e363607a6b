//! No plan assigns more than a node's capacity (`docs/spec/scheduling.md §2.3, 7.2-7.6`).
//!
//! Everything is counted from the records alone (`count`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use encamp_model::*;
use encamp_state::State;

use super::Verdict;
use encamp_test_support::count::{Room, Taken, room, taken};

/// The allocations of a node that hold something once the plan is applied.
pub fn after(before: &State, plan: &Plan, node: &str) -> Vec<Arc<Allocation>> {
    let gone = [&plan.node_update, &plan.node_preemptions];
    let gone: BTreeSet<&str> = gone.iter().flat_map(|m| m.get(node)).flatten().map(|a| a.id.as_str()).collect();
    // The last of several records of one allocation counts.
    let planned = plan.node_allocation.get(node).into_iter().flatten();
    let planned: BTreeMap<&str, &Arc<Allocation>> = planned.map(|a| (a.id.as_str(), a)).collect();
    let stored = before.node(node).into_iter().flat_map(|n| &n.allocs).map(|e| &e.alloc);
    stored
        .filter(|a| !planned.contains_key(a.id.as_str()))
        .chain(planned.values().copied())
        .filter(|a| !gone.contains(a.id.as_str()) && !a.client_terminal())
        .cloned()
        .collect()
}

/// Nodes that got new allocations have all of what they gave away; allocations updated in place fit for themselves.
pub fn check(before: &State, plan: &Plan) -> Verdict {
    for node_id in plan.node_allocation.keys() {
        let Some(node) = before.node(node_id) else { return Err(format!("an allocation on {node_id}, which is gone")) };
        check_node(before, plan, &node.node).map_err(|e| format!("node {node_id}: {e}"))?;
    }
    Ok(())
}

fn check_node(before: &State, plan: &Plan, node: &Node) -> Verdict {
    // A stop that is taken back because no node was found (`docs/spec/reconciliation.md §8.5`) may come after its room
    // was given away.
    let taken_back = |a: &Allocation| {
        let tracker = a.reschedule_tracker.as_ref().is_some_and(|t| t.last_reschedule == "no placement");
        tracker && plan.node_allocation.values().flatten().any(|p| p.id == a.id) && before.alloc(&a.id).is_some()
    };
    let mut list = after(before, plan, &node.id);
    list.retain(|a| !taken_back(a) && !dropped(before, plan, a));
    let fresh: Vec<&Arc<Allocation>> = list.iter().filter(|a| before.alloc(&a.id).is_none()).collect();
    for a in plan.node_allocation.get(&node.id).into_iter().flatten() {
        check_updated(before, plan, node, a)?;
    }
    if fresh.is_empty() {
        return Ok(());
    }
    let room = room(node);
    let uses: Vec<Taken> = list.iter().map(|a| taken(a)).collect();
    let evicts = |a: &&&Arc<Allocation>| !a.preempted_allocations.is_empty();
    match fresh.iter().rfind(evicts) {
        None => fits(&room, &uses)?,
        // Own allocations are not subtracted when room is made (`docs/spec/scheduling.md §8.3`), so that too little may
        // be evicted.
        Some(a) => {
            let own = |b: &Allocation| b.id != a.id && (&b.job_id, &b.namespace) == (&a.job_id, &a.namespace);
            let others: Vec<Taken> = list.iter().filter(|b| !own(b)).map(|b| taken(b)).collect();
            fits(&room, &others).map_err(|e| format!("{e}, without those of the evicting job"))?;
        }
    }
    let evicted = fresh.iter().any(|a| !a.preempted_allocations.is_empty());
    // The search for victims looks at resources: one victim is enough where there are too many allocations
    // (`docs/spec/scheduling.md §8.1`).
    let stopped = plan.node_update.get(&node.id);
    let stopped = |id: &str| stopped.is_some_and(|list| list.iter().any(|a| a.id == id));
    let stored = before.node(&node.id).map_or(0, |n| n.live_allocs().filter(|e| !stopped(&e.alloc.id)).count() as i64);
    let most = if evicted { node.node_max_allocs.max(stored) } else { node.node_max_allocs };
    if node.node_max_allocs > 0 && list.len() as i64 > most {
        return Err(format!("{} allocations of {most}", list.len()));
    }
    let held = Held::new(list.iter().map(|a| before.alloc(&a.id).is_none()).zip(&uses));
    for (a, t) in list.iter().zip(&uses).filter(|(a, _)| before.alloc(&a.id).is_none()) {
        held.check(&room, t, evicted).map_err(|e| format!("allocation {}: {e}", a.id))?;
    }
    Ok(())
}

/// An old allocation of a system job may have been stopped for a canary that was dropped again, because there were
/// enough, after others were placed (`docs/spec/reconciliation.md §9.4`).
fn dropped(before: &State, plan: &Plan, a: &Allocation) -> bool {
    let Some(job) = plan.job.as_ref().filter(|j| j.r#type == JobType::System) else { return false };
    let canaries = plan.deployment.as_ref().and_then(|d| d.task_groups.get(&*a.task_group)?.as_ref());
    before.alloc(&a.id).is_some()
        && (&*a.job_id, &*a.namespace) == (&*job.id, &*job.namespace)
        && a.job.as_ref().is_some_and(|j| j.job_modify_index != job.job_modify_index)
        && canaries.is_some_and(|s| s.desired_canaries > 0)
}

/// CPU, memory and disk suffice.
fn fits(room: &Room, uses: &[Taken]) -> Verdict {
    let sums = [
        ("cpu", uses.iter().map(|t| t.cpu).sum::<i64>(), room.cpu),
        ("memory", uses.iter().map(|t| t.memory).sum(), room.memory),
        ("disk", uses.iter().map(|t| t.disk).sum(), room.disk),
    ];
    match sums.into_iter().find(|(_, used, has)| used > has) {
        Some((what, used, has)) => Err(format!("{used} of {has} {what}")),
        None => Ok(()),
    }
}

/// An allocation of a service or batch job that goes on with a new version fits beside what its node holds now: what
/// the plan stops or changes there does not count yet (`docs/spec/reconciliation.md §7`).
fn check_updated(before: &State, plan: &Plan, node: &Node, a: &Allocation) -> Verdict {
    let Some(stored) = before.alloc(&a.id).map(|e| &e.alloc) else { return Ok(()) };
    let (Some(old), Some(job)) = (&stored.job, &plan.job) else { return Ok(()) };
    let changed = old.job_modify_index != job.job_modify_index && a.job.is_none() && a.eval_id == plan.eval_id;
    let group = old.task_groups.iter().find(|g| g.name == a.task_group);
    // Batch allocations with a duration are not asked whether they fit (Q8), system jobs may ignore victims
    // (`docs/spec/scheduling.md §4.2`).
    let unasked = old.r#type == JobType::Batch && group.is_some_and(|g| g.max_run_duration.is_some());
    if !changed || unasked || a.client_terminal() || matches!(job.r#type, JobType::System | JobType::Sysbatch) {
        return Ok(());
    }
    let lost =
        |id: &str| plan.node_update.values().flatten().any(|s| s.id == id && s.client_status == ClientStatus::Lost);
    let entry = before.node(&node.id).expect("the node was found before");
    let others = entry.live_allocs().filter(|e| e.alloc.id != a.id && !lost(&e.alloc.id));
    let uses: Vec<Taken> = others.map(|e| taken(&e.alloc)).chain([taken(a)]).collect();
    fits(&room(node), &uses).map_err(|e| format!("updated allocation {}: {e}", a.id))
}

/// How often everything that only one can have was given away on a node.
#[derive(Default)]
struct Held<'a> {
    cores: BTreeMap<u64, usize>,
    ports: BTreeMap<(&'a str, i64), usize>,
    devices: BTreeMap<&'a (String, String), usize>,
    mbits: BTreeMap<&'a str, i64>,
}

impl<'a> Held<'a> {
    /// Counts uses and whether they are new. Who does not mind sharing a port may come to any other.
    fn new(uses: impl Iterator<Item = (bool, &'a Taken)>) -> Held<'a> {
        let mut held = Held::default();
        for (fresh, t) in uses {
            t.cores.iter().for_each(|c| *held.cores.entry(*c).or_default() += 1);
            let ports = t.ports.iter().filter(|(_, _, shared)| !(fresh && *shared));
            ports.for_each(|(ip, port, _)| *held.ports.entry((ip, *port)).or_default() += 1);
            t.devices.iter().for_each(|d| *held.devices.entry(d).or_default() += 1);
            t.mbits.iter().for_each(|(d, m)| *held.mbits.entry(d).or_default() += m);
        }
        held
    }

    /// What a new allocation has is the node's to give, and nobody else's.
    fn check(&self, room: &Room, a: &Taken, evicted: bool) -> Verdict {
        for core in &a.cores {
            if self.cores.get(core) != Some(&1) {
                return Err(format!("core {core} is given twice"));
            }
            if !room.cores.contains(core) && !evicted {
                return Err(format!("core {core} is not available"));
            }
        }
        for (ip, port, shared) in &a.ports {
            if !(0..65536).contains(port) {
                return Err(format!("port {port} does not exist"));
            }
            if *shared {
                continue;
            }
            if self.ports.get(&(ip.as_str(), *port)) != Some(&1) {
                return Err(format!("port {ip}:{port} is given twice"));
            }
            if room.reserved_ports.get(ip).is_some_and(|r| r.contains(port)) {
                return Err(format!("port {ip}:{port} is reserved"));
            }
        }
        for device in &a.devices {
            if !room.devices.contains(device) {
                return Err(format!("device {device:?} is not there or not healthy"));
            }
            if self.devices.get(device) != Some(&1) {
                return Err(format!("device {device:?} is given twice"));
            }
        }
        for (device, asked) in a.mbits.iter().filter(|(d, asked)| !d.is_empty() && *asked > 0) {
            let (used, has) = (self.mbits.get(device.as_str()), room.mbits.get(device));
            if used > has.or(Some(&0)) {
                return Err(format!("{used:?} of {has:?} MBit/s on {device}, {asked} asked"));
            }
        }
        Ok(())
    }
}
