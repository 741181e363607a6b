//! Watches on tables and rows: a waiting read is woken by relevant writes only.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::fsm::Change;
use encamp_state::{IdHash, Table};

/// The object a reader watches.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WatchKey {
    /// Any write to a table.
    Table(Table),
    /// Writes to a row, given by its ID, or by namespace, NUL and ID.
    Row(Table, String),
    /// Writes to the evaluations, allocations or deployments of a job, given by namespace, NUL and job ID.
    OfJob(Table, String),
    /// Writes to the allocations of a node.
    OfNode(String),
    /// Writes to the allocations of a node, and the deletion of its last one. Other deletions do not raise the index of
    /// the list that the node reads.
    NewsOfNode(String),
    /// Writes to the allocations of an evaluation.
    OfEval(String),
    /// Writes to the allocations of a deployment.
    OfDeployment(String),
}

/// The key of a row in a namespace.
pub fn row_key(namespace: &str, id: &str) -> String {
    format!("{namespace}\0{id}")
}

/// The kinds of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Table(Table),
    Row(Table),
    OfJob(Table),
    OfNode,
    NewsOfNode,
    OfEval,
    OfDeployment,
}

impl WatchKey {
    /// The kind of the key, and its ID.
    fn parts(&self) -> (Kind, &str) {
        match self {
            WatchKey::Table(t) => (Kind::Table(*t), ""),
            WatchKey::Row(t, row) => (Kind::Row(*t), row),
            WatchKey::OfJob(t, job) => (Kind::OfJob(*t), job),
            WatchKey::OfNode(node) => (Kind::OfNode, node),
            WatchKey::NewsOfNode(node) => (Kind::NewsOfNode, node),
            WatchKey::OfEval(eval) => (Kind::OfEval, eval),
            WatchKey::OfDeployment(deployment) => (Kind::OfDeployment, deployment),
        }
    }
}

/// The waiters for one kind of key, by key.
type OfKind = HashMap<String, Vec<Arc<Notify>>, IdHash>;

/// All waiters. There are no empty entries, so that most writes need no key lookups.
#[derive(Debug, Default)]
struct Waiting(HashMap<Kind, OfKind, IdHash>);

impl Waiting {
    fn add(&mut self, key: &WatchKey, notify: &Arc<Notify>) {
        let (kind, key) = key.parts();
        self.0.entry(kind).or_default().entry(key.to_string()).or_default().push(notify.clone());
    }

    fn remove(&mut self, key: &WatchKey, notify: &Arc<Notify>) {
        let (kind, key) = key.parts();
        let Some(of_kind) = self.0.get_mut(&kind) else { return };
        let Some(list) = of_kind.get_mut(key) else { return };
        list.retain(|n| !Arc::ptr_eq(n, notify));
        if list.is_empty() {
            of_kind.remove(key);
        }
        if of_kind.is_empty() {
            self.0.remove(&kind);
        }
    }

    fn wake(&self, kind: Kind, key: &str) {
        if let Some(list) = self.0.get(&kind).and_then(|k| k.get(key)) {
            list.iter().for_each(|n| n.notify_one());
        }
    }

    /// Wakes the waiters for an object in a namespace.
    fn wake_in(&self, kind: Kind, namespace: &str, id: &str) {
        if self.0.contains_key(&kind) {
            self.wake(kind, &row_key(namespace, id));
        }
    }

    /// Wakes the waiters for the rows affected by a change.
    fn wake_rows(&self, change: &Change) {
        match change {
            Change::Node(id, _) => self.wake(Kind::Row(Table::Nodes), id),
            Change::NodePool(name, _) => self.wake(Kind::Row(Table::NodePools), name),
            Change::Namespace(name) => self.wake(Kind::Row(Table::Namespaces), name),
            Change::Job(j) | Change::JobGone(j) => {
                self.wake_in(Kind::Row(Table::Jobs), &j.namespace, &j.id);
                self.wake_in(Kind::Row(Table::JobVersion), &j.namespace, &j.id);
            }
            Change::JobVersion(job) => self.wake_in(Kind::Row(Table::JobVersion), &job.namespace, &job.id),
            Change::Summary(job) => self.wake_in(Kind::Row(Table::JobSummary), &job.namespace, &job.id),
            Change::Eval(e) | Change::EvalGone(e) => {
                self.wake(Kind::Row(Table::Evals), &e.id);
                self.wake_in(Kind::OfJob(Table::Evals), &e.namespace, &e.job_id);
            }
            Change::Alloc(a) | Change::AllocGone { alloc: a, .. } => {
                self.wake(Kind::Row(Table::Allocs), &a.id);
                self.wake_in(Kind::OfJob(Table::Allocs), &a.namespace, &a.job_id);
                self.wake(Kind::OfNode, &a.node_id);
                if !matches!(change, Change::AllocGone { last_of_node: false, .. }) {
                    self.wake(Kind::NewsOfNode, &a.node_id);
                }
                self.wake(Kind::OfEval, &a.eval_id);
                if !a.deployment_id.is_empty() {
                    self.wake(Kind::OfDeployment, &a.deployment_id);
                }
            }
            Change::Deployment(d) | Change::DeploymentGone(d) => {
                self.wake(Kind::Row(Table::Deployment), &d.id);
                self.wake_in(Kind::OfJob(Table::Deployment), &d.namespace, &d.job_id);
            }
            Change::Service(s) | Change::ServiceGone(s) => {
                self.wake_in(Kind::Row(Table::ServiceRegistrations), &s.namespace, &s.service_name);
            }
            Change::Variable(v) | Change::VariableGone(v) => {
                self.wake_in(Kind::Row(Table::Variables), &v.namespace, &v.path);
            }
            // Reads of single volumes and ACL objects watch the table.
            Change::HostVolume(_)
            | Change::HostVolumeGone(_)
            | Change::CsiVolume(_)
            | Change::CsiVolumeGone(_)
            | Change::CsiPlugin(_)
            | Change::CsiPluginGone(_)
            | Change::AclPolicy(_)
            | Change::AclToken(_)
            | Change::AclRole(_)
            | Change::AclAuthMethod(_)
            | Change::AclBindingRule(_)
            | Change::Other(_) => {}
        }
    }
}

/// All watches, by key.
#[derive(Debug, Default)]
pub struct Watches {
    waiting: Mutex<Waiting>,
}

/// A registered waiter. Register before reading, so that no write is missed.
#[derive(Debug)]
pub struct Waiter<'a> {
    watches: &'a Watches,
    keys: Vec<WatchKey>,
    notify: Arc<Notify>,
}

impl Watches {
    /// Registers a waiter for any of the keys.
    pub fn wait_for(&self, keys: Vec<WatchKey>) -> Waiter<'_> {
        let notify = Arc::new(Notify::new());
        let mut waiting = self.waiting.lock();
        for key in &keys {
            waiting.add(key, &notify);
        }
        drop(waiting);
        Waiter { watches: self, keys, notify }
    }

    /// Wakes the waiters affected by the changes of an entry.
    pub fn notify(&self, changes: &[Change]) {
        let waiting = self.waiting.lock();
        if waiting.0.is_empty() {
            return;
        }
        let mut tables: Vec<Table> = Vec::new();
        for change in changes {
            for table in tables_of(change) {
                if !tables.contains(table) {
                    tables.push(*table);
                }
            }
            waiting.wake_rows(change);
        }
        tables.into_iter().for_each(|t| waiting.wake(Kind::Table(t), ""));
    }

    /// Wakes all waiters, because the store was replaced.
    pub fn notify_all(&self) {
        self.waiting.lock().0.values().flat_map(HashMap::values).flatten().for_each(|n| n.notify_one());
    }

    /// The number of watched keys.
    pub fn len(&self) -> usize {
        self.waiting.lock().0.values().map(HashMap::len).sum()
    }

    /// Whether there are no waiters.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Waiter<'_> {
    /// Waits for the next relevant write; writes since the registration count.
    pub async fn changed(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiting = self.watches.waiting.lock();
        for key in &self.keys {
            waiting.remove(key, &self.notify);
        }
    }
}

fn tables_of(change: &Change) -> &[Table] {
    match change {
        Change::Node(..) => &[Table::Nodes],
        Change::NodePool(..) => &[Table::NodePools],
        Change::Namespace(_) => &[Table::Namespaces],
        Change::Job(_) | Change::JobGone(_) => &[Table::Jobs, Table::JobVersion],
        Change::JobVersion(..) => &[Table::JobVersion],
        Change::Summary(..) => &[Table::JobSummary],
        Change::Eval(_) | Change::EvalGone(_) => &[Table::Evals],
        Change::Alloc(_) | Change::AllocGone { .. } => &[Table::Allocs],
        Change::Deployment(_) | Change::DeploymentGone(_) => &[Table::Deployment],
        Change::Service(_) | Change::ServiceGone(_) => &[Table::ServiceRegistrations],
        Change::Variable(_) | Change::VariableGone(_) => &[Table::Variables],
        Change::HostVolume(_) | Change::HostVolumeGone(_) => &[Table::HostVolumes],
        Change::CsiVolume(_) | Change::CsiVolumeGone(_) => &[Table::CsiVolumes],
        Change::CsiPlugin(_) | Change::CsiPluginGone(_) => &[Table::CsiPlugins],
        Change::AclPolicy(_) => &[Table::AclPolicy],
        Change::AclToken(_) => &[Table::AclToken],
        Change::AclRole(_) => &[Table::AclRoles],
        Change::AclAuthMethod(_) => &[Table::AclAuthMethods],
        Change::AclBindingRule(_) => &[Table::AclBindingRules],
        Change::Other(t) => std::slice::from_ref(t),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use encamp_model::Job;

    async fn woken(w: &Waiter<'_>) -> bool {
        tokio::time::timeout(Duration::from_millis(10), w.changed()).await.is_ok()
    }

    #[tokio::test]
    async fn only_affected_waiters_are_woken() {
        let watches = Watches::default();
        let job = |id: &str| Change::Job(Arc::new(Job { namespace: "ns".into(), id: id.into(), ..Default::default() }));
        let row = watches.wait_for(vec![WatchKey::Row(Table::Jobs, row_key("ns", "a"))]);
        let table = watches.wait_for(vec![WatchKey::Table(Table::Jobs), WatchKey::Table(Table::JobSummary)]);
        let other = watches.wait_for(vec![WatchKey::Table(Table::Allocs)]);
        watches.notify(&[job("b")]);
        assert!(!woken(&row).await && woken(&table).await && !woken(&other).await);
        watches.notify(&[job("a")]);
        assert!(woken(&row).await && woken(&table).await && !woken(&other).await);
        watches.notify_all();
        assert!(woken(&other).await);
        drop((row, table, other));
        assert!(watches.is_empty());
    }
}
