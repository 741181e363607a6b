//! Changes of the allocations of each group.

use std::collections::BTreeMap;

use serde::Serialize;

use encamp_model::{Allocation, ClientStatus};
use encamp_state::State;

/// Changes of the allocations of a group. One allocation can count more than once.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct AllocationChanges {
    /// Namespace of the job.
    pub namespace: String,
    /// The job.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The group.
    pub task_group: String,
    /// New ones.
    pub placed: usize,
    /// New ones that replace one on another node.
    pub moved: usize,
    /// Ones that have to stop since.
    pub stopped: usize,
    /// Ones that completed since.
    pub completed: usize,
    /// Ones that failed since.
    pub failed: usize,
    /// Ones that were lost since.
    pub lost: usize,
    /// Ones that are not stored any more.
    pub removed: usize,
    /// Ones whose status changed otherwise, as from pending to running.
    pub other: usize,
    /// From which node to which the moved ones went, by ID of the new allocation.
    pub moves: Vec<Move>,
}

/// An allocation that went to another node.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Move {
    /// The new allocation.
    #[serde(rename = "AllocID")]
    pub alloc_id: String,
    /// Its name.
    pub name: String,
    /// The node of the old one.
    pub from: String,
    /// Its own node.
    pub to: String,
}

/// The groups whose allocations differ, by namespace, job and name.
pub(crate) fn changes(old: &State, new: &State) -> Vec<AllocationChanges> {
    let mut groups: BTreeMap<(String, String, String), AllocationChanges> = BTreeMap::new();
    let mut count = |alloc: &Allocation, add: &dyn Fn(&mut AllocationChanges)| {
        let key = (alloc.namespace.to_string(), alloc.job_id.to_string(), alloc.task_group.to_string());
        let fresh = || AllocationChanges {
            namespace: alloc.namespace.to_string(),
            job_id: alloc.job_id.to_string(),
            task_group: alloc.task_group.to_string(),
            ..Default::default()
        };
        add(groups.entry(key).or_insert_with(fresh));
    };
    for entry in new.allocs() {
        let alloc = entry.alloc.as_ref();
        let before = old.alloc(&alloc.id).map(|e| e.alloc.as_ref());
        if before.is_none() {
            count(alloc, &|g| g.placed += 1);
            if let Some(from) = came_from(old, new, alloc) {
                let to = Move {
                    alloc_id: alloc.id.to_string(),
                    name: alloc.name.to_string(),
                    from: from.to_string(),
                    to: alloc.node_id.to_string(),
                };
                count(alloc, &|g| {
                    g.moved += 1;
                    g.moves.push(to.clone());
                });
            }
        }
        status_changes(before, alloc, &mut count);
    }
    for entry in old.allocs().filter(|e| new.alloc(&e.alloc.id).is_none()) {
        count(&entry.alloc, &|g| g.removed += 1);
    }
    let mut out: Vec<_> = groups.into_values().collect();
    out.iter_mut().for_each(|g| g.moves.sort_by(|a, b| a.alloc_id.cmp(&b.alloc_id)));
    out
}

/// Counts what became of an allocation since.
fn status_changes(
    before: Option<&Allocation>,
    now: &Allocation,
    count: &mut impl FnMut(&Allocation, &dyn Fn(&mut AllocationChanges)),
) {
    let was = |status: &ClientStatus| before.is_some_and(|b| b.client_status == *status);
    let stopped = now.server_terminal() && !before.is_some_and(Allocation::server_terminal);
    if stopped {
        count(now, &|g| g.stopped += 1);
    }
    match &now.client_status {
        status if was(status) && (stopped || before.is_some_and(|b| b.desired_status == now.desired_status)) => {}
        status if was(status) => count(now, &|g| g.other += 1),
        ClientStatus::Failed => count(now, &|g| g.failed += 1),
        ClientStatus::Lost => count(now, &|g| g.lost += 1),
        ClientStatus::Complete => count(now, &|g| g.completed += 1),
        _ if before.is_some() => count(now, &|g| g.other += 1),
        _ => {}
    }
}

/// The node of the allocation of the old state that this one replaces, if it is another one.
fn came_from<'a>(old: &'a State, new: &State, alloc: &Allocation) -> Option<&'a str> {
    let mut previous = alloc.previous_allocation.clone();
    // Longer chains of replacements between two snapshots do not occur; circles in broken files do.
    for _ in 0..100 {
        if let Some(found) = old.alloc(&previous) {
            let node = found.alloc.node_id.as_str();
            return Some(node).filter(|n| *n != alloc.node_id);
        }
        previous = new.alloc(&previous)?.alloc.previous_allocation.clone();
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::ClusterSnapshot;
    use crate::diff::diff;
    use crate::read;
    use encamp_model::ClientStatus::{self, Complete, Failed, Lost, Pending, Running};
    use encamp_model::DesiredStatus::{self, Run, Stop};

    fn snapshot(json: &str) -> ClusterSnapshot {
        read(format!(r#"{{"Version": 1, {json}}}"#).as_bytes(), "f").unwrap()
    }

    #[test]
    fn allocations_are_counted_by_what_happened_to_them() {
        let alloc = |id: &str, node: &str, desired: DesiredStatus, client: ClientStatus, previous: &str| {
            format!(
                r#"{{"ID": "{id}", "JobID": "j", "TaskGroup": "g", "Namespace": "n", "NodeID": "{node}", "DesiredStatus":
                "{desired}", "ClientStatus": "{client}", "PreviousAllocation": "{previous}"}}"#
            )
        };
        let of = |allocs: &[String]| snapshot(&format!(r#""Allocations": [{}]"#, allocs.join(",")));
        let a = of(&[
            alloc("a", "1", Run, Running, ""),
            alloc("b", "1", Run, Running, ""),
            alloc("c", "1", Run, Pending, ""),
            alloc("d", "1", Run, Running, ""),
            alloc("e", "2", Stop, Complete, ""),
        ]);
        let b = of(&[
            alloc("a", "1", Stop, Complete, ""),
            alloc("b", "1", Run, Failed, ""),
            alloc("c", "1", Run, Running, ""),
            alloc("d", "1", Run, Lost, ""),
            alloc("x", "9", Run, Failed, "a"),
            alloc("y", "2", Run, Pending, "x"),
            alloc("z", "1", Run, Pending, "b"),
        ]);
        let d = diff(&a, &b);
        let [g] = d.allocations.as_slice() else { panic!("{:?}", d.allocations) };
        assert_eq!((g.placed, g.moved, g.stopped, g.completed), (3, 2, 1, 1));
        assert_eq!((g.failed, g.lost, g.removed, g.other), (2, 1, 1, 1));
        assert_eq!((g.moves[1].from.as_str(), g.moves[1].to.as_str()), ("1", "2"));
        assert!(diff(&a, &a).equal);
    }
}
