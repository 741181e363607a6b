//! Clusters that are full of allocations of one size.
//!
//! Let every live allocation and every group take the same CPU, memory and disk `u` and nothing else, let no node have
//! room for `u`, and let no job have anything to do. A placement then finds a node only by evicting, and evicts one
//! allocation: the first victim gives enough. That takes `u` and gives `u`, so every node keeps its free resources, and
//! the next placement finds no room either. Whatever is lost, the other nodes have room for what they have room for now.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Activity, DemandType, JobDemand, amounts_decide, stable};
use crate::what_if::JobKey;
use encamp_model::{Job, TaskGroup};
use encamp_scheduler::stack::CompiledGroup;
use encamp_state::{AllocUsage, NodeEntry, Snapshot};

/// Whether the nodes keep their free resources whatever is lost.
pub(super) fn keeps_room(state: &Snapshot, jobs: &BTreeMap<JobKey, JobDemand>) -> bool {
    let settled = |j: &JobDemand| j.activity == Activity::Settled && j.r#type != DemandType::PerNode;
    if !jobs.values().all(settled) {
        return false;
    }
    let mut live = state.nodes().flat_map(|n| n.live_allocs().map(move |e| (n, e)));
    let Some(size) = live.next().map(|(_, e)| amounts(&e.usage)) else { return false };
    let alike = |n: &NodeEntry| {
        n.live_allocs().all(|e| {
            let job = state.job(&e.alloc.namespace, &e.alloc.job_id);
            is_plain(&e.usage) && amounts(&e.usage) == size && job.is_some_and(|job| stable(state, job, &e.alloc))
        })
    };
    let full = |n: &NodeEntry| {
        let (has, used) = (&n.info, &n.usage);
        let free = [(has.cpu, used.cpu), (has.memory, used.memory), (has.disk, used.disk)];
        free.iter().zip(size).any(|((has, used), needed)| has.saturating_sub(*used) < needed)
    };
    let nodes = state.nodes().all(|n| alike(n) && (!n.node.ready() || full(n)));
    let placed = state.jobs().map(|e| &e.current).filter(|j| !j.stop && !j.is_template());
    nodes
        && placed.flat_map(groups_of).all(|(job, group)| {
            let compiled = CompiledGroup::new(job, group, false);
            compiled.simple && amounts(&compiled.usage) == size && amounts_decide(job, group)
        })
}

fn groups_of(job: &Arc<Job>) -> impl Iterator<Item = (&Arc<Job>, &TaskGroup)> {
    job.task_groups.iter().filter(|g| g.count > 0).map(move |g| (job, g))
}

fn amounts(usage: &AllocUsage) -> [i64; 3] {
    [usage.cpu, usage.memory, usage.disk]
}

/// Whether an allocation holds nothing but amounts.
fn is_plain(usage: &AllocUsage) -> bool {
    usage.cores().is_empty() && usage.ports.is_empty() && usage.mbits().is_empty() && usage.devices().is_empty()
}
