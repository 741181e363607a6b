//! Objects by ID with their indexes, from this fetch and from earlier ones.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::file::SnapshotFile;
use encamp_model::responses::{JobListStub, NodeListStub};
use encamp_model::{AllocListStub, Allocation, Job, Node};
use encamp_state::IdHash;

/// Namespace and ID of a job.
pub(crate) type JobKey = (String, String);

/// Nodes, jobs and allocations in full.
#[derive(Debug, Clone, Default)]
pub struct Collected {
    /// Nodes by ID.
    pub nodes: HashMap<String, Node, IdHash>,
    /// All stored versions of jobs, newest first.
    pub jobs: BTreeMap<JobKey, Vec<Job>>,
    /// Allocations by ID.
    pub allocations: HashMap<String, Arc<Allocation>, IdHash>,
}

impl Collected {
    /// The objects of a snapshot file. Every allocation of it counts as read in full.
    pub(crate) fn from_file(file: SnapshotFile) -> Collected {
        let mut out = Collected::default();
        out.nodes.extend(file.nodes.into_iter().map(|n| (n.id.clone(), n)));
        for job in file.jobs {
            out.jobs.entry((job.namespace.clone(), job.id.clone())).or_default().push(job);
        }
        out.jobs.values_mut().for_each(|versions| versions.sort_by_key(|j| std::cmp::Reverse(j.version)));
        out.allocations.extend(file.allocations.into_iter().map(|a| (a.id.to_string(), a)));
        out
    }

    /// Whether the node is known as the list has it. More than the index is compared: a cluster that was set up again
    /// counts from one again.
    pub(crate) fn has_node(&self, listed: &NodeListStub) -> bool {
        self.nodes.get(&listed.id).is_some_and(|n| {
            n.modify_index == listed.modify_index
                && n.status == listed.status
                && n.scheduling_eligibility == listed.scheduling_eligibility
        })
    }

    /// The same for a job with all its versions.
    pub(crate) fn has_job(&self, key: &JobKey, listed: &JobListStub) -> bool {
        let newest = self.jobs.get(key).and_then(|v| v.first());
        newest.is_some_and(|j| j.modify_index == listed.modify_index && j.submit_time == listed.submit_time)
    }

    /// The same for an allocation, with the job it was placed with: servers forget old versions of jobs, and the
    /// allocation is where it can still be read.
    pub(crate) fn has_allocation(&self, listed: &AllocListStub) -> bool {
        self.allocations.get(&*listed.id).is_some_and(|a| {
            let has_job = || a.stored_job_version.is_none_or(|version| self.has_version(listed, version));
            a.modify_index == listed.modify_index && (a.job.is_some() || has_job())
        })
    }

    /// Whether the job that an allocation was placed with is known as this version. A job that was purged and
    /// registered again counts its versions from 0 once more, and is younger than the allocation.
    pub(crate) fn has_version(&self, listed: &AllocListStub, version: u64) -> bool {
        let versions = self.jobs.get(&(listed.namespace.to_string(), listed.job_id.to_string()));
        versions.is_some_and(|v| v.iter().any(|j| j.version == version && j.create_index <= listed.create_index))
    }
}

/// The facts about an allocation in a list entry.
pub(crate) fn from_stub(stub: AllocListStub) -> Allocation {
    Allocation {
        id: stub.id,
        eval_id: stub.eval_id,
        name: stub.name,
        namespace: stub.namespace,
        node_id: stub.node_id,
        node_name: stub.node_name,
        job_id: stub.job_id,
        stored_job_version: Some(stub.job_version),
        task_group: stub.task_group,
        allocated_resources: stub.allocated_resources,
        desired_status: stub.desired_status,
        desired_description: stub.desired_description,
        client_status: stub.client_status,
        client_description: stub.client_description,
        desired_transition: stub.desired_transition,
        task_states: stub.task_states,
        deployment_status: stub.deployment_status,
        followup_eval_id: stub.followup_eval_id,
        next_allocation: stub.next_allocation,
        reschedule_tracker: stub.reschedule_tracker,
        preempted_allocations: stub.preempted_allocations,
        preempted_by_allocation: stub.preempted_by_allocation,
        create_index: stub.create_index,
        modify_index: stub.modify_index,
        create_time: stub.create_time,
        modify_time: stub.modify_time,
        ..Allocation::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An allocation of version 3 of a job that was registered at index 10; it was placed at index 20.
    fn known(versions: &[(u64, u64)], own_job: bool) -> Collected {
        let job = |version, create_index| Job { version, create_index, ..Job::default() };
        let a = Allocation {
            stored_job_version: (!own_job).then_some(3),
            job: own_job.then(|| Arc::new(job(3, 10))),
            create_index: 20,
            modify_index: 25,
            ..Allocation::default()
        };
        let mut out = Collected::default();
        let jobs = versions.iter().map(|(version, created)| job(*version, *created)).collect();
        out.jobs.insert(JobKey::default(), jobs);
        out.allocations.insert(a.id.to_string(), Arc::new(a));
        out
    }

    #[test]
    fn an_allocation_is_known_with_its_job_or_not_at_all() {
        let listed = |modify_index| AllocListStub { create_index: 20, modify_index, ..AllocListStub::default() };
        for (versions, own_job, want) in [
            (&[(4, 10), (3, 10)][..], false, true),
            // The version was trimmed, the job purged, or registered again since.
            (&[(9, 10), (8, 10)], false, false),
            (&[], false, false),
            (&[(3, 30)], false, false),
            (&[], true, true),
            (&[(3, 30)], true, true),
        ] {
            let known = known(versions, own_job);
            assert_eq!(known.has_allocation(&listed(25)), want, "{versions:?} {own_job}");
            assert!(!known.has_allocation(&listed(26)), "it changed");
        }
    }
}
