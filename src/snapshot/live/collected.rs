//! Objects by ID with their indexes, from this fetch and from earlier ones.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::api::types::{JobListStub, NodeListStub};
use crate::model::{AllocListStub, Allocation, Job, Node};
use crate::snapshot::file::SnapshotFile;
use crate::state::IdHash;

/// Namespace and ID of a job.
pub type JobKey = (String, String);

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
    /// What a snapshot file holds. Every allocation of it counts as read in full.
    pub fn from_file(file: SnapshotFile) -> Collected {
        let mut out = Collected::default();
        out.nodes.extend(file.nodes.into_iter().map(|n| (n.id.clone(), n)));
        for job in file.jobs {
            out.jobs.entry((job.namespace.clone(), job.id.clone())).or_default().push(job);
        }
        out.jobs.values_mut().for_each(|versions| versions.sort_by_key(|j| std::cmp::Reverse(j.version)));
        out.allocations.extend(file.allocations.into_iter().map(|a| (a.id.clone(), a)));
        out
    }

    /// Whether the node is known as the list has it. More than the index is compared: a cluster that was set up anew counts
    /// from one again.
    pub fn has_node(&self, listed: &NodeListStub) -> bool {
        self.nodes.get(&listed.id).is_some_and(|n| {
            n.modify_index == listed.modify_index
                && n.status == listed.status
                && n.scheduling_eligibility == listed.scheduling_eligibility
        })
    }

    /// The same for a job with all its versions.
    pub fn has_job(&self, key: &JobKey, listed: &JobListStub) -> bool {
        let newest = self.jobs.get(key).and_then(|v| v.first());
        newest.is_some_and(|j| j.modify_index == listed.modify_index && j.submit_time == listed.submit_time)
    }

    /// The same for an allocation.
    pub fn has_allocation(&self, listed: &AllocListStub) -> bool {
        self.allocations.get(&listed.id).is_some_and(|a| a.modify_index == listed.modify_index)
    }

    /// Whether a version of the job is known.
    pub fn has_version(&self, key: &JobKey, version: u64) -> bool {
        self.jobs.get(key).is_some_and(|versions| versions.iter().any(|j| j.version == version))
    }
}

/// What a list entry tells of an allocation.
pub fn from_stub(stub: AllocListStub) -> Allocation {
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
