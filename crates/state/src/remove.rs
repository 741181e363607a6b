//! Removal from the tables. Removing an object that does not exist does nothing.

use std::sync::Arc;

use super::id::Id;
use super::job_entry::JobEntry;
use super::node::NodeEntry;
use super::tables::{State, key_by_job};
use encamp_model::*;

impl State {
    /// Removes a node. Its allocations stay, without a home.
    pub fn remove_node(&mut self, id: &str) -> Option<Arc<Node>> {
        let slot = self.slots.remove(id)?;
        let old = self.node_at(slot)?.clone();
        self.set_entry(NodeEntry::new(Arc::new(Node::default()), slot));
        self.free_slots.push_back(slot);
        self.node_index = Arc::default();
        self.send_away(id, &old.allocs);
        Some(old.node.clone())
    }

    /// Removes a pool.
    pub fn remove_node_pool(&mut self, name: &str) -> Option<Arc<NodePool>> {
        self.node_pools.remove(name)
    }

    /// Removes a namespace.
    pub fn remove_namespace(&mut self, name: &str) -> Option<Arc<Namespace>> {
        self.namespaces.remove(name)
    }

    /// Removes a job with all its versions.
    pub fn remove_job(&mut self, namespace: &str, id: &str) -> Option<Arc<JobEntry>> {
        self.jobs.remove(&(Id::new(namespace), Id::new(id)))
    }

    /// Removes one version of a job, which must not be the current one.
    pub fn remove_job_version(&mut self, namespace: &str, id: &str, version: u64) -> Option<Arc<Job>> {
        let entry = self.jobs.get_mut(&(Id::new(namespace), Id::new(id)))?;
        if entry.current.version == version {
            return None;
        }
        Arc::make_mut(entry).versions.remove(&version)
    }

    /// Removes a deployment.
    pub fn remove_deployment(&mut self, id: &str) -> Option<Arc<Deployment>> {
        let old = self.deployments.remove(&Id::new(id))?;
        self.deployments_by_job.remove(&key_by_job(&old));
        Some(old)
    }

    /// Removes a CSI volume.
    pub fn remove_csi_volume(&mut self, namespace: &str, id: &str) -> Option<Arc<CsiVolume>> {
        self.csi_volumes.remove(&(namespace.to_string(), id.to_string()))
    }

    /// Removes a host volume.
    pub fn remove_host_volume(&mut self, id: &str) -> Option<Arc<HostVolume>> {
        self.host_volumes.remove(id)
    }

    /// Removes a claim on a host volume.
    pub fn remove_host_volume_claim(&mut self, id: &str) -> Option<Arc<TaskGroupHostVolumeClaim>> {
        self.host_volume_claims.remove(id)
    }
}
