//! Which allocations may be evicted (`docs/spec/scheduling.md §8`).

use std::collections::BTreeMap;

use encamp_model::*;
use encamp_state::State;

use super::Verdict;

/// Checks every eviction of a plan.
pub fn check(before: &State, plan: &Plan, kind: &JobType) -> Verdict {
    if plan.node_preemptions.is_empty() {
        return Ok(());
    }
    if !enabled(before, kind) {
        return Err(format!("{kind} jobs may not preempt"));
    }
    let mut evictors: BTreeMap<&str, &str> = BTreeMap::new();
    for (node, victims) in &plan.node_preemptions {
        for v in victims {
            check_victim(before, plan, node, v).map_err(|e| format!("victim {} on node {node}: {e}", v.id))?;
            let by = evictors.entry(&v.id).or_insert(&v.preempted_by_allocation);
            if *by != v.preempted_by_allocation {
                return Err(format!("victim {} of {by} and {}", v.id, v.preempted_by_allocation));
            }
        }
    }
    let fresh = plan.node_allocation.values().flatten().filter(|a| before.alloc(&a.id).is_none());
    for a in fresh {
        for (i, id) in a.preempted_allocations.iter().enumerate() {
            // A holder of several of the asked ports is named once for each (`docs/spec/scheduling.md §8.4`).
            let named = 1 + a.preempted_allocations[..i].iter().filter(|o| *o == id).count();
            if named > 1 && named > shared_ports(before, a, id) {
                return Err(format!("allocation {} evicts {id} {named} times", a.id));
            }
            if evictors.get(id.as_str()) != Some(&a.id.as_str()) {
                return Err(format!("allocation {} names {id}, which the plan does not evict for it", a.id));
            }
        }
    }
    Ok(())
}

fn enabled(before: &State, kind: &JobType) -> bool {
    before.scheduler_config.as_ref().is_none_or(|c| match kind {
        JobType::Batch => c.preemption_config.batch_scheduler_enabled,
        JobType::System => c.preemption_config.system_scheduler_enabled,
        JobType::Sysbatch => c.preemption_config.sys_batch_scheduler_enabled,
        JobType::Service | JobType::Core | JobType::Unset | JobType::Other(_) => {
            c.preemption_config.service_scheduler_enabled
        }
    })
}

fn check_victim(before: &State, plan: &Plan, node: &str, v: &Allocation) -> Verdict {
    let stored = &before.alloc(&v.id).ok_or("does not exist")?.alloc;
    if stored.node_id != node {
        return Err(format!("is on node {}", stored.node_id));
    }
    if stored.client_terminal() {
        return Err("is over already".into());
    }
    if plan.node_update.values().flatten().any(|a| a.id == v.id) {
        return Err("is stopped too".into());
    }
    let planned = plan.node_allocation.get(node).into_iter().flatten();
    if planned.clone().any(|a| a.id == v.id) {
        return Err("is updated too".into());
    }
    let placed = planned.clone().find(|a| a.id == v.preempted_by_allocation);
    let job = placed.and_then(|a| a.job.clone()).or_else(|| plan.job.clone()).ok_or("nobody knows the job")?;
    // A canary beyond the wanted number is dropped, its victims stay in the plan (`docs/spec/reconciliation.md §9.4`).
    let canaries = job.r#type == JobType::System
        && job.task_groups.iter().any(|g| g.update.as_ref().is_some_and(|u| u.canary > 0));
    if placed.is_none() && !canaries {
        return Err(format!("makes room for {}, which is not placed there", v.preempted_by_allocation));
    }
    let priority = stored.job.as_ref().ok_or("has no job")?.priority;
    if priority > job.priority - 10 {
        return Err(format!("has priority {priority}, evicted for priority {}", job.priority));
    }
    if (&*stored.job_id, &*stored.namespace) == (&*job.id, &*job.namespace) {
        return Err("is of the same job".into());
    }
    Ok(())
}

/// How many of the static ports of an allocation another one holds.
fn shared_ports(before: &State, a: &Allocation, other: &str) -> usize {
    let reserved = |a: &Allocation| -> Vec<i64> {
        let Some(r) = &a.allocated_resources else { return Vec::new() };
        let networks = r.shared.networks.iter().chain(r.tasks.values().flat_map(|t| &t.networks).cloned());
        networks.flat_map(|n| n.reserved_ports.into_iter().map(|p| p.value)).collect()
    };
    let held = before.alloc(other).map_or_else(Vec::new, |e| reserved(&e.alloc));
    reserved(a).iter().filter(|p| held.contains(p)).count()
}
