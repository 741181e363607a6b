//! Turns a state into the file it could have been read from.

use std::collections::HashMap;
use std::sync::Arc;

use super::file::{ClusterSnapshot, FORMAT_VERSION, SnapshotFile, Volume};
use encamp_model::{Allocation, Job};
use encamp_state::State;

/// The file of a snapshot: reading it gives the same state. Lists are in the order of IDs; allocations name their job's
/// version where the state holds it.
pub fn to_file(snapshot: &ClusterSnapshot) -> SnapshotFile {
    let state = &snapshot.state;
    let mut allocations: Vec<_> = state.allocs().map(|a| a.alloc.clone()).collect();
    allocations.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let mut own = OwnJobs::default();
    let allocations = allocations.iter().map(|a| stored(state, a, &mut own)).collect();
    SnapshotFile {
        nodes: state.nodes().map(|n| n.node.as_ref().clone()).collect(),
        jobs: state.jobs().flat_map(|j| j.versions.values()).map(|j| j.as_ref().clone()).collect(),
        allocations,
        allocation_jobs: own.jobs.into_iter().map(Arc::unwrap_or_clone).collect(),
        deployments: state.deployments().map(|d| d.as_ref().clone()).collect(),
        ..small_tables(snapshot)
    }
}

/// The same without nodes, jobs, allocations and deployments.
pub(crate) fn small_tables(snapshot: &ClusterSnapshot) -> SnapshotFile {
    let state = &snapshot.state;
    let csi = state.csi_volumes().map(|v| Volume::Csi(Box::new(v.as_ref().clone())));
    let host = state.host_volumes().map(|v| Volume::Host(Box::new(v.as_ref().clone())));
    SnapshotFile {
        version: Some(FORMAT_VERSION),
        taken_at: snapshot.taken_at,
        source: snapshot.source.clone(),
        index: state.index,
        scheduler_configuration: state.scheduler_config.as_deref().cloned(),
        server_settings: state.server_settings.as_deref().cloned(),
        node_pools: state.node_pools().map(|p| p.as_ref().clone()).collect(),
        namespaces: state.namespaces().map(|n| n.as_ref().clone()).collect(),
        volumes: csi.chain(host).collect(),
        host_volume_claims: state.host_volume_claims().map(|c| c.as_ref().clone()).collect(),
        ..SnapshotFile::default()
    }
}

/// Jobs of allocations that differ from the stored version, each once.
#[derive(Default)]
struct OwnJobs {
    jobs: Vec<Arc<Job>>,
    positions: HashMap<*const Job, u32>,
}

impl OwnJobs {
    fn position(&mut self, job: &Arc<Job>) -> u32 {
        *self.positions.entry(Arc::as_ptr(job)).or_insert_with(|| {
            self.jobs.push(job.clone());
            u32::try_from(self.jobs.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

/// The allocation without its job, if that is a stored version or differs from one.
fn stored(state: &State, alloc: &Arc<Allocation>, own: &mut OwnJobs) -> Arc<Allocation> {
    let Some(job) = &alloc.job else { return alloc.clone() };
    let Some(stored) = state.job_version(&alloc.namespace, &alloc.job_id, job.version) else { return alloc.clone() };
    let mut bare = alloc.as_ref().clone();
    if Arc::ptr_eq(stored, job) {
        bare.stored_job_version = Some(job.version);
    } else {
        bare.job_ref = Some(own.position(job));
    }
    bare.job = None;
    Arc::new(bare)
}

#[cfg(test)]
mod tests {
    use crate::{file, read, unload::to_file};

    #[test]
    fn a_state_gives_the_file_it_was_read_from() {
        let json = r#"{"Version": 1, "Index": 9, "Source": "s", "Nodes": [{"ID": "n", "NodePool": "default"}],
            "Jobs": [{"ID": "j", "Namespace": "default", "Version": 2}, {"ID": "j", "Namespace": "default"}],
            "Allocations": [{"ID": "b", "JobID": "x", "Namespace": "default", "Job": {"ID": "x", "Version": 3}},
                            {"ID": "a", "JobID": "j", "Namespace": "default", "NodeID": "n", "JobVersion": 2}],
            "Volumes": [{"Type": "csi", "ID": "v", "Namespace": "default"}, {"Type": "host", "ID": "h"}]}"#;
        let file = to_file(&read(json.as_bytes(), "f").unwrap());
        assert_eq!(file.jobs.iter().map(|j| j.version).collect::<Vec<_>>(), [0, 2]);
        assert_eq!((file.allocations[0].stored_job_version, file.allocations[0].job.is_none()), (Some(2), true));
        assert!(file.allocations[1].job.is_some());
        assert_eq!((file.volumes.len(), file.index, file.source.as_str()), (2, 9, "s"));
        let text = serde_json::to_value(&file).unwrap();
        let again = to_file(&file::into_state(file).unwrap());
        assert_eq!(serde_json::to_value(&again).unwrap(), text);
    }
}
