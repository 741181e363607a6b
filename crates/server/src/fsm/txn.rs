//! One transaction: writes go through it, so that table indexes follow and the changes are known afterwards.

use std::sync::Arc;

use encamp_model::*;
use encamp_state::{StateStore, Table};

/// A row that was written or removed.
#[derive(Debug, Clone)]
pub enum Change {
    /// A node; without a new record it was removed.
    Node(String, Option<Arc<Node>>),
    /// A pool.
    NodePool(String, Option<Arc<NodePool>>),
    /// A namespace.
    Namespace(String),
    /// A job.
    Job(Arc<Job>),
    /// A job that was purged, as it was.
    JobGone(Arc<Job>),
    /// A version of a job that is not the current one.
    JobVersion(String, String),
    /// The counts of a job: namespace, ID.
    Summary(String, String),
    /// An evaluation.
    Eval(Arc<Evaluation>),
    /// An evaluation that was removed.
    EvalGone(Arc<Evaluation>),
    /// An allocation.
    Alloc(Arc<Allocation>),
    /// An allocation that was removed.
    AllocGone(Arc<Allocation>),
    /// A deployment.
    Deployment(Arc<Deployment>),
    /// A deployment that was removed.
    DeploymentGone(Arc<Deployment>),
    /// A registered service.
    Service(Arc<ServiceRegistration>),
    /// A registration that was removed.
    ServiceGone(Arc<ServiceRegistration>),
    /// A variable.
    Variable(Arc<VariableEncrypted>),
    /// A variable that was removed.
    VariableGone(Arc<VariableEncrypted>),
    /// A host volume.
    HostVolume(Arc<HostVolume>),
    /// A host volume that was removed.
    HostVolumeGone(Arc<HostVolume>),
    /// Something in a table whose rows are not watched one by one.
    Other(Table),
}

/// Capacity that came free, for evaluations that wait for it (`docs/spec/server.md §8.4`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unblock {
    /// The computed class of the node.
    pub class: String,
    /// The node, where its own system evaluations are to be looked at again, too.
    pub node: Option<String>,
}

/// A transaction on a store.
pub struct Txn<'a> {
    /// The store. Read freely; write through the methods here.
    pub store: &'a mut StateStore,
    /// The index of the log entry.
    pub index: u64,
    /// What was written, in order.
    pub changes: Vec<Change>,
    /// Capacity that came free.
    pub unblocks: Vec<Unblock>,
    /// Follow-up evaluations nobody needs to wait for any more.
    pub dropped_evals: Vec<Arc<Evaluation>>,
}

impl<'a> Txn<'a> {
    /// Begins.
    pub fn new(store: &'a mut StateStore, index: u64) -> Txn<'a> {
        Txn { store, index, changes: Vec::new(), unblocks: Vec::new(), dropped_evals: Vec::new() }
    }

    /// Notes a write to a table.
    pub fn touch(&mut self, table: Table) {
        self.store.set_index(table, self.index);
    }

    /// Notes a change in a table whose rows are not watched one by one.
    pub fn other(&mut self, table: Table) {
        self.touch(table);
        self.changes.push(Change::Other(table));
    }

    /// Writes a node that registers.
    pub(crate) fn put_node(&mut self, node: Node) {
        let node = Arc::new(node);
        self.store.put_node(node.clone());
        self.wrote_node(node);
    }

    /// Writes a stored node of which only status, eligibility, drain, events or books changed.
    pub(crate) fn put_node_record(&mut self, node: Node) {
        let node = Arc::new(node);
        self.store.replace_node_record(node.clone());
        self.wrote_node(node);
    }

    fn wrote_node(&mut self, node: Arc<Node>) {
        self.touch(Table::Nodes);
        self.changes.push(Change::Node(node.id.clone(), Some(node)));
    }

    /// Writes a job row (current version and its row among the versions) as it is.
    pub(crate) fn put_job(&mut self, job: Arc<Job>) {
        self.store.put_job(job.clone());
        self.touch(Table::Jobs);
        self.touch(Table::JobVersion);
        self.changes.push(Change::Job(job));
    }

    /// Writes the counts of a job, if they differ.
    pub(crate) fn put_summary(&mut self, mut summary: JobSummary) {
        let old = self.store.summary(&summary.namespace, &summary.job_id);
        if old.is_some_and(|old| **old == summary) {
            return;
        }
        summary.modify_index = self.index;
        self.changes.push(Change::Summary(summary.namespace.clone(), summary.job_id.clone()));
        self.store.put_summary(Arc::new(summary));
        self.touch(Table::JobSummary);
    }

    /// Writes an evaluation as it is.
    pub(crate) fn put_eval(&mut self, eval: Arc<Evaluation>) {
        self.store.put_eval(eval.clone());
        self.touch(Table::Evals);
        self.changes.push(Change::Eval(eval));
    }

    /// Writes allocations as they are.
    pub(crate) fn put_allocs(&mut self, allocs: Vec<Arc<Allocation>>) {
        if allocs.is_empty() {
            return;
        }
        self.changes.extend(allocs.iter().cloned().map(Change::Alloc));
        self.store.put_allocs(allocs);
        self.touch(Table::Allocs);
    }

    /// Writes a deployment.
    pub(crate) fn put_deployment(&mut self, d: Deployment) {
        let d = Arc::new(d);
        self.store.put_deployment(d.clone());
        self.touch(Table::Deployment);
        self.changes.push(Change::Deployment(d));
    }

    /// Removes a deployment.
    pub(crate) fn remove_deployment(&mut self, id: &str) {
        if let Some(old) = self.store.remove_deployment(id) {
            self.touch(Table::Deployment);
            self.changes.push(Change::DeploymentGone(old));
        }
    }

    /// Removes allocations and their service registrations.
    pub(crate) fn remove_allocs<'i>(&mut self, ids: impl IntoIterator<Item = &'i str>) {
        let removed = self.store.remove_allocs(ids);
        if removed.is_empty() {
            return;
        }
        for a in removed {
            self.remove_services_of(&a.id);
            self.changes.push(Change::AllocGone(a));
        }
        self.touch(Table::Allocs);
    }

    /// There is room on a stored node: what waits for its class, or for the node, is looked at again.
    pub fn unblock(&mut self, node: &str) {
        if let Some(n) = self.store.state().node(node) {
            self.unblocks.push(Unblock { class: n.node.computed_class.clone(), node: Some(node.into()) });
        }
    }

    /// Removes the service registrations of an allocation.
    pub(crate) fn remove_services_of(&mut self, alloc_id: &str) {
        let ids: Vec<_> = self.store.services_of_alloc(alloc_id).map(|s| (s.namespace.clone(), s.id.clone())).collect();
        for (ns, id) in ids {
            self.remove_service(&ns, &id);
        }
    }

    /// Removes a service registration; false if there is none.
    pub(crate) fn remove_service(&mut self, namespace: &str, id: &str) -> bool {
        let Some(old) = self.store.remove_service(namespace, id) else { return false };
        self.touch(Table::ServiceRegistrations);
        self.changes.push(Change::ServiceGone(old));
        true
    }

    /// Writes a variable as it is.
    pub fn put_variable(&mut self, v: Arc<VariableEncrypted>) {
        self.store.put_variable(v.clone());
        self.touch(Table::Variables);
        self.changes.push(Change::Variable(v));
    }

    /// Writes a host volume as it is.
    pub(crate) fn put_host_volume(&mut self, v: HostVolume) {
        let v = Arc::new(v);
        self.store.put_host_volume(v.clone());
        self.touch(Table::HostVolumes);
        self.changes.push(Change::HostVolume(v));
    }

    /// Removes a host volume.
    pub(crate) fn remove_host_volume(&mut self, id: &str) {
        if let Some(old) = self.store.remove_host_volume(id) {
            self.touch(Table::HostVolumes);
            self.changes.push(Change::HostVolumeGone(old));
        }
    }

    /// Removes a variable.
    pub(crate) fn remove_variable(&mut self, namespace: &str, path: &str) {
        if let Some(old) = self.store.remove_variable(namespace, path) {
            self.touch(Table::Variables);
            self.changes.push(Change::VariableGone(old));
        }
    }
}
