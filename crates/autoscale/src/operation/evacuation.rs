//! Whether the allocations of a drained node run elsewhere (`docs/spec/cluster-scaling.md §6`).

use std::collections::{BTreeMap, BTreeSet};

use encamp_model::{Allocation, ClientStatus, DesiredStatus, JobType};
use encamp_state::State;

/// How many replacements of replacements are followed.
const MOST_REPLACEMENTS: usize = 64;

/// The type of an allocation's job; unset if neither the allocation nor the cluster knows the job.
fn job_type<'a>(state: &'a State, alloc: &'a Allocation) -> &'a JobType {
    let own = alloc.job.as_deref();
    own.or_else(|| state.job(&alloc.namespace, &alloc.job_id).map(|j| &**j)).map_or(&JobType::Unset, |j| &j.r#type)
}

fn of_system_job(state: &State, alloc: &Allocation) -> bool {
    matches!(job_type(state, alloc), JobType::System | JobType::Sysbatch)
}

fn runs(alloc: &Allocation) -> bool {
    alloc.client_status == ClientStatus::Running && alloc.desired_status == DesiredStatus::Run
}

/// Whether a node has an allocation that has not ended; those of system jobs do not count.
pub(super) fn has_work(state: &State, node: &str) -> bool {
    state.allocs_of_node(node).iter().any(|e| !e.phase.client_terminal() && !of_system_job(state, &e.alloc))
}

/// A group of a service job that a drain took an allocation from and that lacks its replacement, as `job/group`; the
/// first one. `since` is the index of the cluster when the operation began: what happened before does not count.
pub(super) fn lacks_replacement(state: &State, node: &str, since: u64) -> Option<String> {
    let mut displaced: BTreeMap<(&str, &str, &str), Vec<&Allocation>> = BTreeMap::new();
    let on_node = state.allocs_of_node(node);
    for alloc in on_node.iter().map(|e| &*e.alloc) {
        let by_drain = alloc.desired_transition.migrate == Some(true) && alloc.modify_index > since;
        if by_drain && *job_type(state, alloc) == JobType::Service {
            displaced.entry((&alloc.namespace, &alloc.job_id, &alloc.task_group)).or_default().push(alloc);
        }
    }
    let lacking = displaced.into_iter().find(|((namespace, job, group), allocs)| {
        let wanted = state.job(namespace, job).filter(|j| !j.stop).and_then(|j| j.lookup_group(group));
        let Some(wanted) = wanted else { return false };
        let all = state.allocs_of_job(namespace, job);
        let elsewhere: BTreeSet<&str> = all
            .iter()
            .map(|e| &*e.alloc)
            .filter(|a| a.task_group == *group && a.node_id != node && runs(a))
            .map(|a| a.id.as_str())
            .collect();
        let complete = i64::try_from(elsewhere.len()).is_ok_and(|n| n >= wanted.count);
        !complete && !allocs.iter().all(|a| is_replaced(state, a, &elsewhere))
    });
    lacking.map(|((_, job, group), _)| format!("{job}/{group}"))
}

/// Whether one of the allocations that came after `alloc` is among those that run elsewhere.
fn is_replaced(state: &State, alloc: &Allocation, elsewhere: &BTreeSet<&str>) -> bool {
    let mut id = alloc.next_allocation.clone();
    for _ in 0..MOST_REPLACEMENTS {
        if elsewhere.contains(id.as_str()) {
            return true;
        }
        match state.alloc(&id) {
            Some(entry) => id = entry.alloc.next_allocation.clone(),
            None => return false,
        }
    }
    false
}
