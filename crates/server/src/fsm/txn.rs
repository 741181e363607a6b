//! A transaction: all writes go through it, so that table indexes are updated and the changes are recorded.

use std::sync::Arc;

use encamp_model::*;
use encamp_state::{StateStore, Table};

/// A row that was written or removed.
#[derive(Debug, Clone)]
pub enum Change {
    /// A node; removed if there is no record.
    Node(String, Option<Arc<Node>>),
    /// A pool.
    NodePool(String, Option<Arc<NodePool>>),
    /// A namespace.
    Namespace(String),
    /// A job.
    Job(Arc<Job>),
    /// The last record of a purged job.
    JobGone(Arc<Job>),
    /// A version of a job that is not the current one.
    JobVersion(JobKey),
    /// The summary of a job.
    Summary(JobKey),
    /// An evaluation.
    Eval(Arc<Evaluation>),
    /// An evaluation that was removed.
    EvalGone(Arc<Evaluation>),
    /// An allocation.
    Alloc(Arc<Allocation>),
    /// An allocation that was removed.
    AllocGone {
        /// As it was.
        alloc: Arc<Allocation>,
        /// Its node has no other allocations.
        last_of_node: bool,
    },
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
    /// A CSI volume.
    CsiVolume(Arc<CsiVolume>),
    /// A CSI volume that was removed.
    CsiVolumeGone(Arc<CsiVolume>),
    /// A CSI plugin.
    CsiPlugin(Arc<CsiPlugin>),
    /// A CSI plugin that was removed.
    CsiPluginGone(Arc<CsiPlugin>),
    /// An ACL policy, written or removed.
    AclPolicy(Arc<AclPolicy>),
    /// An ACL token, written or removed.
    AclToken(Arc<AclToken>),
    /// An ACL role, written or removed.
    AclRole(Arc<AclRole>),
    /// An auth method, written or removed.
    AclAuthMethod(Arc<AclAuthMethod>),
    /// A binding rule, written or removed.
    AclBindingRule(Arc<AclBindingRule>),
    /// A change in a table whose rows are not watched individually.
    Other(Table),
}

/// Capacity that became available, for blocked evaluations (`docs/spec/server.md §8.4`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unblock {
    /// The computed class of the node.
    pub class: String,
    /// The node, if its blocked system evaluations are to be unblocked, too.
    pub node: Option<String>,
}

/// A transaction on a store.
pub struct Txn<'a> {
    /// The store. Reads are unrestricted; writes must use the methods of this type.
    pub store: &'a mut StateStore,
    /// The index of the log entry.
    pub index: u64,
    /// The written rows, in order.
    pub changes: Vec<Change>,
    /// Capacity that became available.
    pub unblocks: Vec<Unblock>,
    /// Follow-up evaluations that are not needed any more.
    pub dropped_evals: Vec<Arc<Evaluation>>,
}

impl<'a> Txn<'a> {
    /// Begins a transaction.
    pub fn new(store: &'a mut StateStore, index: u64) -> Txn<'a> {
        Txn { store, index, changes: Vec::new(), unblocks: Vec::new(), dropped_evals: Vec::new() }
    }

    /// Records a write to a table.
    pub fn touch(&mut self, table: Table) {
        self.store.set_index(table, self.index);
    }

    /// Records a change in a table whose rows are not watched individually.
    pub fn other(&mut self, table: Table) {
        self.touch(table);
        self.changes.push(Change::Other(table));
    }

    /// Writes a registering node.
    pub(crate) fn put_node(&mut self, node: Node) {
        let node = Arc::new(node);
        self.store.put_node(node.clone());
        self.wrote_node(node);
    }

    /// Writes a stored node of which only status, eligibility, drain, events or bookkeeping changed.
    pub(crate) fn put_node_record(&mut self, node: Node) {
        let node = Arc::new(node);
        self.store.replace_node_record(node.clone());
        self.wrote_node(node);
    }

    fn wrote_node(&mut self, node: Arc<Node>) {
        self.touch(Table::Nodes);
        self.changes.push(Change::Node(node.id.clone(), Some(node)));
    }

    /// Writes a job row (the current version and its row among the versions) unmodified.
    pub(crate) fn put_job(&mut self, job: Arc<Job>) {
        self.store.put_job(job.clone());
        self.touch(Table::Jobs);
        self.touch(Table::JobVersion);
        self.changes.push(Change::Job(job));
    }

    /// Writes the summary of a job, if it changed.
    pub(crate) fn put_summary(&mut self, mut summary: JobSummary) {
        let old = self.store.summary(&summary.namespace, &summary.job_id);
        if old.is_some_and(|old| **old == summary) {
            return;
        }
        summary.modify_index = self.index;
        self.changes.push(Change::Summary(JobKey::new(&summary.namespace, &summary.job_id)));
        self.store.put_summary(Arc::new(summary));
        self.touch(Table::JobSummary);
    }

    /// Writes an evaluation unmodified.
    pub(crate) fn put_eval(&mut self, eval: Arc<Evaluation>) {
        self.store.put_eval(eval.clone());
        self.touch(Table::Evals);
        self.changes.push(Change::Eval(eval));
    }

    /// Writes allocations unmodified.
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
            let last_of_node = self.store.state().node(&a.node_id).is_none_or(|n| n.allocs.is_empty());
            self.changes.push(Change::AllocGone { alloc: a, last_of_node });
        }
        self.touch(Table::Allocs);
    }

    /// Records that capacity became available on a stored node: evaluations blocked on its class, or on the node, are
    /// unblocked.
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

    /// Removes a service registration. Returns false if there is none.
    pub(crate) fn remove_service(&mut self, namespace: &str, id: &str) -> bool {
        let Some(old) = self.store.remove_service(namespace, id) else { return false };
        self.touch(Table::ServiceRegistrations);
        self.changes.push(Change::ServiceGone(old));
        true
    }

    /// Writes a variable unmodified.
    pub fn put_variable(&mut self, v: Arc<VariableEncrypted>) {
        self.store.put_variable(v.clone());
        self.touch(Table::Variables);
        self.changes.push(Change::Variable(v));
    }

    /// Writes a host volume unmodified.
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

    /// Writes a CSI volume unmodified.
    pub(crate) fn put_csi_volume(&mut self, v: CsiVolume) {
        let v = Arc::new(v);
        self.store.put_csi_volume(v.clone());
        self.touch(Table::CsiVolumes);
        self.changes.push(Change::CsiVolume(v));
    }

    /// Removes a CSI volume.
    pub(crate) fn remove_csi_volume(&mut self, namespace: &str, id: &str) {
        if let Some(old) = self.store.remove_csi_volume(namespace, id) {
            self.touch(Table::CsiVolumes);
            self.changes.push(Change::CsiVolumeGone(old));
        }
    }

    /// Writes a CSI plugin unmodified.
    pub(crate) fn put_csi_plugin(&mut self, p: CsiPlugin) {
        let p = Arc::new(p);
        self.store.put_csi_plugin(p.clone());
        self.touch(Table::CsiPlugins);
        self.changes.push(Change::CsiPlugin(p));
    }

    /// Removes a CSI plugin.
    pub(crate) fn remove_csi_plugin(&mut self, id: &str) {
        if let Some(old) = self.store.remove_csi_plugin(id) {
            self.touch(Table::CsiPlugins);
            self.changes.push(Change::CsiPluginGone(old));
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
