//! The tables of a cluster and their write operations.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use imbl::{OrdMap, OrdSet, Vector};

use super::alloc_tables::Allocs;
use super::id::Id;
use super::index::{NodeIndex, client_version};
use super::job_entry::JobEntry;
use super::lazy::nodes::LazyNodes;
use super::lazy::table::Table;
use super::node::NodeEntry;
use super::node_slots::NodeSlots;
use super::slots::Slots;
use super::summary::NodeSummary;
use encamp_model::*;

/// A read-only view of the state at one moment.
pub type Snapshot = Arc<State>;

/// Namespace and ID (of a job or volume).
pub(crate) type Key = (String, String);

/// The tables planning needs. Writing keeps the indexes and the per-node facts in step; cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The largest index written so far.
    pub index: u64,
    /// Scheduler configuration, if one is stored.
    pub scheduler_config: Option<Arc<SchedulerConfiguration>>,
    /// The settings of the servers, where a snapshot contains them. Servers themselves read their configuration.
    pub server_settings: Option<Arc<ServerSettings>>,
    /// Nodes by slot; `None`: it is as in `lazy_nodes`.
    pub(super) nodes: Slots<Option<Arc<NodeEntry>>>,
    /// The nodes of a state that are decoded when they are read.
    pub(super) lazy_nodes: Option<Arc<LazyNodes>>,
    /// The same in numbers.
    pub(super) summaries: Slots<NodeSummary>,
    pub(super) slots: NodeSlots,
    /// Slots of nodes that were removed: they hold empty entries until they are given away again.
    pub(super) free_slots: Vector<u32>,
    /// Made when first asked for after a change; shared with the clones of that time.
    pub(super) node_index: Arc<OnceLock<Arc<NodeIndex>>>,
    pub(super) node_pools: OrdMap<String, Arc<NodePool>>,
    pub(super) namespaces: OrdMap<String, Arc<Namespace>>,
    pub(super) jobs: Table<(Id, Id), Arc<JobEntry>>,
    pub(super) allocs: Allocs,
    pub(super) deployments: Table<Id, Arc<Deployment>>,
    /// Job ID, namespace, deployment ID.
    pub(super) deployments_by_job: OrdSet<(Id, Id, Id)>,
    pub(super) csi_volumes: OrdMap<Key, Arc<CsiVolume>>,
    pub(super) host_volumes: OrdMap<String, Arc<HostVolume>>,
    pub(super) host_volume_claims: OrdMap<String, Arc<TaskGroupHostVolumeClaim>>,
}

impl State {
    /// An empty state.
    pub fn new() -> State {
        State::default()
    }

    /// Freezes the state. Later writes to `self` do not show.
    pub fn snapshot(&self) -> Snapshot {
        Arc::new(self.clone())
    }

    // ---- nodes

    /// All nodes by ascending ID.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<NodeEntry>> {
        self.slots.values().filter_map(|slot| self.node_at(slot))
    }

    /// The node of that ID.
    pub fn node(&self, id: &str) -> Option<&Arc<NodeEntry>> {
        self.node_at(*self.slots.get(id)?)
    }

    /// The node in a slot.
    pub fn node_at(&self, slot: u32) -> Option<&Arc<NodeEntry>> {
        match self.nodes.get(slot as usize)? {
            Some(entry) => Some(entry),
            None => self.lazy_nodes.as_ref()?.entry(slot),
        }
    }

    /// The summary of the node in a slot.
    pub fn node_summary(&self, slot: u32) -> Option<NodeSummary> {
        self.summaries.get(slot as usize).copied()
    }

    /// The entries of all slots, empty ones of slots that are free included.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Arc<NodeEntry>> {
        let slots = 0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        slots.filter_map(|slot| self.node_at(slot))
    }

    /// Changes the entry in a slot and keeps its summary in step; `None` if there is no such slot.
    pub(super) fn change_node<T>(&mut self, slot: u32, change: impl FnOnce(&mut NodeEntry) -> T) -> Option<T> {
        let lazy_nodes = self.lazy_nodes.as_ref();
        let stored = self.nodes.get_mut(slot as usize)?;
        if stored.is_none() {
            *stored = lazy_nodes.and_then(|nodes| nodes.entry(slot)).cloned();
        }
        let entry = Arc::make_mut(stored.as_mut()?);
        let changed = change(entry);
        let summary = NodeSummary::of(entry);
        if self.summaries.get(slot as usize) != Some(&summary) {
            self.summaries.set(slot as usize, summary);
        }
        Some(changed)
    }

    /// Stores the entry of a slot, which is in use already or the next one.
    pub(super) fn set_entry(&mut self, entry: NodeEntry) {
        let slot = entry.slot as usize;
        self.summaries.set(slot, NodeSummary::of(&entry));
        self.nodes.set(slot, Some(Arc::new(entry)));
    }

    /// One more than the largest slot of a node.
    pub fn slot_count(&self) -> usize {
        self.nodes.len()
    }

    /// The nodes as schedulers list them.
    pub fn node_index(&self) -> &Arc<NodeIndex> {
        self.node_index.get_or_init(|| Arc::new(NodeIndex::new(self.nodes().map(|n| &**n), self.slot_count())))
    }

    /// Replaces a node of which only status, eligibility, drain, events or books changed: what jobs can have of it, and
    /// its class, stay as they are.
    pub fn replace_node_record(&mut self, node: Arc<Node>) {
        self.replace_node(node, NodeEntry::set_record, true);
    }

    fn replace_node(&mut self, node: Arc<Node>, set: fn(&mut NodeEntry, Arc<Node>), same_facts: bool) {
        self.touch(node.modify_index);
        let Some(e) = self.node(&node.id) else { return };
        let (named_alike, same_ready) = (listed_alike(&e.node, &node), e.node.ready() == node.ready());
        let same_facts = same_facts || checked_alike(&e.node, &node);
        let (slot, ready) = (e.slot, node.ready());
        self.change_node(slot, |e| set(e, node));
        if named_alike && same_ready && same_facts {
            return;
        }
        // The state drops its own reference before: an index that nobody else holds is not copied.
        let known = std::mem::take(&mut self.node_index).get().filter(|_| named_alike).cloned();
        if let Some(mut index) = known {
            let changed = Arc::make_mut(&mut index);
            changed.set_ready(slot, ready);
            if !same_facts {
                changed.forget_node_verdicts();
            }
            self.node_index = Arc::new(OnceLock::from(index));
        }
    }

    /// Adds or replaces a node; its allocations stay.
    pub fn upsert_node(&mut self, node: Arc<Node>) {
        if self.slots.get(&node.id).is_some() {
            return self.replace_node(node, NodeEntry::set_node, false);
        }
        self.touch(node.modify_index);
        let free = self.free_slots.pop_back();
        let slot = free.unwrap_or_else(|| u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        let mut entry = NodeEntry::new(node.clone(), slot);
        entry.put_allocs(self.bring_home(&node.id, slot));
        self.slots.insert(node.id.clone(), slot);
        self.set_entry(entry);
        self.node_index = Arc::default();
    }

    // ---- pools, namespaces, configuration

    /// The pool of that name.
    pub fn node_pool(&self, name: &str) -> Option<&Arc<NodePool>> {
        self.node_pools.get(name)
    }

    /// All pools by name.
    pub fn node_pools(&self) -> impl Iterator<Item = &Arc<NodePool>> {
        self.node_pools.values()
    }

    /// Adds or replaces a pool.
    pub fn upsert_node_pool(&mut self, pool: Arc<NodePool>) {
        self.touch(pool.modify_index);
        self.node_pools.insert(pool.name.clone(), pool);
    }

    /// The namespace of that name.
    pub fn namespace(&self, name: &str) -> Option<&Arc<Namespace>> {
        self.namespaces.get(name)
    }

    /// All namespaces by name.
    pub fn namespaces(&self) -> impl Iterator<Item = &Arc<Namespace>> {
        self.namespaces.values()
    }

    /// Adds or replaces a namespace.
    pub fn upsert_namespace(&mut self, ns: Arc<Namespace>) {
        self.touch(ns.modify_index);
        self.namespaces.insert(ns.name.clone(), ns);
    }

    /// Stores the scheduler configuration.
    pub fn set_scheduler_config(&mut self, config: Arc<SchedulerConfiguration>) {
        self.touch(config.modify_index);
        self.scheduler_config = Some(config);
    }

    // ---- jobs

    /// A job with its versions.
    pub fn job_entry(&self, namespace: &str, id: &str) -> Option<&Arc<JobEntry>> {
        self.jobs.get(&(Id::new(namespace), Id::new(id)))
    }

    /// The current version of a job.
    pub fn job(&self, namespace: &str, id: &str) -> Option<&Arc<Job>> {
        self.job_entry(namespace, id).map(|e| &e.current)
    }

    /// A stored version of a job.
    pub fn job_version(&self, namespace: &str, id: &str, version: u64) -> Option<&Arc<Job>> {
        self.job_entry(namespace, id)?.versions.get(&version)
    }

    /// All jobs by namespace and ID.
    pub fn jobs(&self) -> impl Iterator<Item = &Arc<JobEntry>> {
        self.jobs.values()
    }

    /// Stores a version of a job. The highest version is the current one.
    pub fn upsert_job(&mut self, job: Arc<Job>) {
        self.touch(job.modify_index);
        let key = (Id::new(&job.namespace), Id::new(&job.id));
        match self.jobs.get_mut(&key) {
            Some(e) => {
                let e = Arc::make_mut(e);
                if job.version >= e.current.version {
                    e.current = job.clone();
                }
                e.versions.insert(job.version, job);
            }
            None => {
                let versions = BTreeMap::from([(job.version, job.clone())]);
                self.jobs.insert(key, Arc::new(JobEntry { current: job, versions }));
            }
        }
    }

    // ---- deployments

    /// The deployment of that ID.
    pub fn deployment(&self, id: &str) -> Option<&Arc<Deployment>> {
        self.deployments.get(&Id::new(id))
    }

    /// All deployments by ID.
    pub fn deployments(&self) -> impl Iterator<Item = &Arc<Deployment>> {
        self.deployments.values()
    }

    /// All deployments of a job by ID.
    pub fn deployments_of_job(&self, namespace: &str, job_id: &str) -> Vec<Arc<Deployment>> {
        let (job, namespace) = (Id::new(job_id), Id::new(namespace));
        self.deployments_by_job
            .range((job.clone(), namespace.clone(), Id::default())..)
            .take_while(|(j, ns, _)| *j == job && *ns == namespace)
            .filter_map(|(_, _, id)| self.deployments.get(id).cloned())
            .collect()
    }

    /// The deployment of a job with the highest CreateIndex.
    pub fn latest_deployment(&self, namespace: &str, job_id: &str) -> Option<Arc<Deployment>> {
        self.deployments_of_job(namespace, job_id).into_iter().max_by_key(|d| d.create_index)
    }

    /// Adds or replaces a deployment.
    pub fn upsert_deployment(&mut self, d: Arc<Deployment>) {
        self.touch(d.modify_index);
        let key = key_by_job(&d);
        if let Some(old) = self.deployments.insert(key.2.clone(), d)
            && key_by_job(&old) != key
        {
            self.deployments_by_job.remove(&key_by_job(&old));
        }
        self.deployments_by_job.insert(key);
    }

    // ---- volumes

    /// The CSI volume of that namespace and ID.
    pub fn csi_volume(&self, namespace: &str, id: &str) -> Option<&Arc<CsiVolume>> {
        self.csi_volumes.get(&(namespace.to_string(), id.to_string()))
    }

    /// All CSI volumes.
    pub fn csi_volumes(&self) -> impl Iterator<Item = &Arc<CsiVolume>> {
        self.csi_volumes.values()
    }

    /// Adds or replaces a CSI volume.
    pub fn upsert_csi_volume(&mut self, v: Arc<CsiVolume>) {
        self.touch(v.modify_index);
        self.csi_volumes.insert((v.namespace.clone(), v.id.clone()), v);
    }

    /// The host volume of that ID.
    pub fn host_volume(&self, id: &str) -> Option<&Arc<HostVolume>> {
        self.host_volumes.get(id)
    }

    /// All host volumes by ID.
    pub fn host_volumes(&self) -> impl Iterator<Item = &Arc<HostVolume>> {
        self.host_volumes.values()
    }

    /// Adds or replaces a host volume.
    pub fn upsert_host_volume(&mut self, v: Arc<HostVolume>) {
        self.touch(v.modify_index);
        self.host_volumes.insert(v.id.clone(), v);
    }

    /// All claims on host volumes by ID.
    pub fn host_volume_claims(&self) -> impl Iterator<Item = &Arc<TaskGroupHostVolumeClaim>> {
        self.host_volume_claims.values()
    }

    /// Adds or replaces a claim on a host volume.
    pub fn upsert_host_volume_claim(&mut self, c: Arc<TaskGroupHostVolumeClaim>) {
        self.touch(c.modify_index);
        self.host_volume_claims.insert(c.id.clone(), c);
    }

    pub(super) fn touch(&mut self, index: u64) {
        self.index = self.index.max(index);
    }
}

/// The key of a deployment in the order of jobs.
pub(super) fn key_by_job(d: &Deployment) -> (Id, Id, Id) {
    (Id::new(&d.job_id), Id::new(&d.namespace), Id::new(&d.id))
}

/// Whether checks of drivers, attributes and resources say the same about two records of a node.
fn checked_alike(a: &Node, b: &Node) -> bool {
    let drivers = a.drivers.iter().map(|(name, d)| (name, d.detected && d.healthy));
    a.attributes == b.attributes
        && a.node_resources == b.node_resources
        && drivers.eq(b.drivers.iter().map(|(name, d)| (name, d.detected && d.healthy)))
}

/// Whether two records of a node have the same row in the index, besides whether it is ready.
fn listed_alike(a: &Node, b: &Node) -> bool {
    a.datacenter == b.datacenter
        && a.node_pool == b.node_pool
        && a.computed_class == b.computed_class
        && a.node_class == b.node_class
        && client_version(a) == client_version(b)
}
