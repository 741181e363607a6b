//! The figures of a cluster before and after a rebalance.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::steps::{AreaFigures, Figures, Utilisation};
use crate::what_if::missing;
use encamp_model::*;
use encamp_scheduler::constraint::Target;
use encamp_state::{NodeEntry, State};

/// MHz of the allocation that asks for as much memory as there is.
const SMALL_CPU: i64 = 100;
/// MiB of the one that asks for as much CPU as there is.
const SMALL_MEMORY: i64 = 128;

/// Whether a node runs nothing, allocations of system and sysbatch jobs apart.
pub(super) fn is_empty(node: &NodeEntry) -> bool {
    let per_node =
        |a: &Allocation| a.job.as_ref().is_some_and(|j| matches!(j.r#type, JobType::System | JobType::Sysbatch));
    node.live_allocs().all(|e| per_node(&e.alloc))
}

/// The use of a node, in thousandths.
pub(super) fn utilisation(has: [i64; 2], used: [i64; 2]) -> Utilisation {
    let part = |n: usize| {
        let whole = i128::from(has[n].max(1));
        i64::try_from(i128::from(used[n].max(0)) * 1000 / whole).unwrap_or(i64::MAX)
    };
    Utilisation { cpu: part(0), memory: part(1) }
}

/// The figures of a cluster.
pub fn figures(state: &State) -> Figures {
    let ready: Vec<&Arc<NodeEntry>> = state.nodes().filter(|e| e.node.ready()).collect();
    let mut areas: BTreeMap<(&str, &str), (AreaFigures, [i64; 2])> = BTreeMap::new();
    let (mut largest_memory, mut largest_cpu) = (0, 0);
    for e in &ready {
        let used = utilisation([e.info.cpu, e.info.memory], [e.usage.cpu, e.usage.memory]);
        let (area, sums) = areas.entry((&e.node.node_pool, &e.node.datacenter)).or_default();
        area.nodes += 1;
        area.empty += usize::from(is_empty(e));
        area.highest.cpu = area.highest.cpu.max(used.cpu);
        area.highest.memory = area.highest.memory.max(used.memory);
        sums[0] += used.cpu;
        sums[1] += used.memory;
        let (cpu, memory) = (e.info.cpu - e.usage.cpu, e.info.memory - e.usage.memory);
        let full = e.info.max_allocs != 0 && e.usage.count >= e.info.max_allocs;
        if cpu >= SMALL_CPU && !full {
            largest_memory = largest_memory.max(memory);
        }
        if memory >= SMALL_MEMORY && !full {
            largest_cpu = largest_cpu.max(cpu);
        }
    }
    let areas = areas.into_iter().map(|((pool, datacenter), (area, sums))| {
        let nodes = i64::try_from(area.nodes).unwrap_or(1).max(1);
        let mean = Utilisation { cpu: sums[0] / nodes, memory: sums[1] / nodes };
        AreaFigures { pool: pool.to_string(), datacenter: datacenter.to_string(), mean, ..area }
    });
    let jobs = || state.jobs().map(|e| &e.current).filter(|j| !j.stop && !j.is_template());
    let generic = jobs().filter(|j| matches!(j.r#type, JobType::Service | JobType::Batch));
    let unplaced = generic.map(|j| j.task_groups.iter().map(|g| missing(state, j, g)).sum::<i64>()).sum();
    let off_target = jobs().map(|j| j.task_groups.iter().map(|g| off_target(state, j, g)).sum::<i64>()).sum();
    Figures { areas: areas.collect(), unplaced, off_target, largest_memory, largest_cpu }
}

/// How many allocations of a group stand on the wrong value of a property that it is spread over: the largest number of
/// its spreads.
fn off_target(state: &State, job: &Job, group: &TaskGroup) -> i64 {
    let spreads: Vec<&Spread> = job.spreads.iter().chain(&group.spreads).collect();
    if spreads.is_empty() {
        return 0;
    }
    let live: Vec<_> = state
        .entries_of_job(&job.namespace, &job.id)
        .filter(|e| e.alloc.task_group == group.name && !e.alloc.terminal())
        .collect();
    let excess = spreads.into_iter().map(|spread| {
        let target = Target::parse(&spread.attribute);
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        if spread.spread_target.is_empty() {
            let open = state.nodes().filter(|n| n.node.ready() && encamp_scheduler::candidates::covers(job, &n.node));
            counts.extend(open.filter_map(|n| Some((target.resolve(&n.node)?.to_string(), 0))));
        }
        for e in &live {
            let value = state.node(&e.alloc.node_id).and_then(|n| target.resolve(&n.node)).unwrap_or_default();
            *counts.entry(value.to_string()).or_default() += 1;
        }
        excess(&counts, spread, group.count)
    });
    excess.max().unwrap_or(0)
}

/// How many allocations have to move so that the counts by value are as a spread wants them.
pub(super) fn excess(counts: &BTreeMap<String, i64>, spread: &Spread, count: i64) -> i64 {
    if spread.spread_target.is_empty() {
        let (total, values) = (counts.values().sum::<i64>(), i64::try_from(counts.len()).unwrap_or(1).max(1));
        let (low, mut high) = (total / values, total % values);
        let mut sorted: Vec<i64> = counts.values().copied().collect();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        return sorted
            .into_iter()
            .map(|n| {
                let wanted = low + i64::from(high > 0);
                high -= 1;
                (n - wanted).max(0)
            })
            .sum();
    }
    // As the scheduler counts: targets by value, and the rest for all others together.
    let of = |percent: u64| {
        let percent = i64::try_from(percent).unwrap_or(100).min(100);
        percent.saturating_mul(count).saturating_add(99) / 100
    };
    let named: BTreeMap<&str, i64> = spread.spread_target.iter().map(|t| (t.value.as_str(), of(t.percent))).collect();
    let rest = count.saturating_sub(named.values().sum()).max(0);
    let (mut over, mut others) = (0, 0);
    for (value, n) in counts {
        match named.get(value.as_str()) {
            Some(wanted) => over += (n - wanted).max(0),
            None => others += n,
        }
    }
    over + (others - rest).max(0)
}
