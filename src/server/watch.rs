//! Watches on tables and rows: a read that waits is woken by writes that concern it, and by no others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::fsm::Change;
use crate::state::Table;

/// What a reader waits for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WatchKey {
    /// Any write to a table.
    Table(Table),
    /// Writes to one row: its ID, or namespace, NUL and ID.
    Row(Table, String),
    /// Writes to evaluations, allocations or deployments of a job: namespace, NUL and job ID.
    OfJob(Table, String),
    /// Writes to allocations of a node.
    OfNode(String),
    /// Writes to allocations of an evaluation.
    OfEval(String),
    /// Writes to allocations of a deployment.
    OfDeployment(String),
}

/// The key of a row that belongs to a namespace.
pub fn row_key(namespace: &str, id: &str) -> String {
    format!("{namespace}\0{id}")
}

/// Those who wait, by what they wait for.
#[derive(Debug, Default)]
pub struct Watches {
    waiting: Mutex<HashMap<WatchKey, Vec<Arc<Notify>>>>,
}

/// A place among those who wait. Take it before reading; then no write is missed.
#[derive(Debug)]
pub struct Waiter<'a> {
    watches: &'a Watches,
    keys: Vec<WatchKey>,
    notify: Arc<Notify>,
}

impl Watches {
    fn lock(&self) -> MutexGuard<'_, HashMap<WatchKey, Vec<Arc<Notify>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to wait for any of the keys.
    pub fn wait_for(&self, keys: Vec<WatchKey>) -> Waiter<'_> {
        let notify = Arc::new(Notify::new());
        let mut waiting = self.lock();
        for key in &keys {
            waiting.entry(key.clone()).or_default().push(notify.clone());
        }
        drop(waiting);
        Waiter { watches: self, keys, notify }
    }

    /// Wakes those whom the changes of an entry concern.
    pub fn notify(&self, changes: &[Change]) {
        let waiting = self.lock();
        if waiting.is_empty() {
            return;
        }
        let wake = |key: WatchKey| {
            for n in waiting.get(&key).into_iter().flatten() {
                n.notify_one();
            }
        };
        let mut tables: Vec<Table> = Vec::new();
        for change in changes {
            for table in tables_of(change) {
                if !tables.contains(&table) {
                    tables.push(table);
                }
            }
            rows_of(change).into_iter().for_each(&wake);
        }
        tables.into_iter().for_each(|t| wake(WatchKey::Table(t)));
    }

    /// Wakes everybody: the store was replaced.
    pub fn notify_all(&self) {
        self.lock().values().flatten().for_each(|n| n.notify_one());
    }

    /// How many keys are waited for.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Waiter<'_> {
    /// Waits for the next write that concerns this reader; a write since the place was taken counts.
    pub async fn changed(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiting = self.watches.lock();
        for key in &self.keys {
            if let Some(list) = waiting.get_mut(key) {
                list.retain(|n| !Arc::ptr_eq(n, &self.notify));
                if list.is_empty() {
                    waiting.remove(key);
                }
            }
        }
    }
}

fn tables_of(change: &Change) -> Vec<Table> {
    match change {
        Change::Node(..) => vec![Table::Nodes],
        Change::NodePool(..) => vec![Table::NodePools],
        Change::Namespace(_) => vec![Table::Namespaces],
        Change::Job(_) | Change::JobGone(_) => vec![Table::Jobs, Table::JobVersion],
        Change::JobVersion(..) => vec![Table::JobVersion],
        Change::Summary(..) => vec![Table::JobSummary],
        Change::Eval(_) | Change::EvalGone(_) => vec![Table::Evals],
        Change::Alloc(_) | Change::AllocGone(_) => vec![Table::Allocs],
        Change::Deployment(_) | Change::DeploymentGone(_) => vec![Table::Deployment],
        Change::Service(_) | Change::ServiceGone(_) => vec![Table::ServiceRegistrations],
        Change::Variable(_) | Change::VariableGone(_) => vec![Table::Variables],
        Change::HostVolume(_) | Change::HostVolumeGone(_) => vec![Table::HostVolumes],
        Change::Other(t) => vec![*t],
    }
}

fn rows_of(change: &Change) -> Vec<WatchKey> {
    let row = |t: Table, id: &str| WatchKey::Row(t, id.to_string());
    match change {
        Change::Node(id, _) => vec![row(Table::Nodes, id)],
        Change::NodePool(name, _) => vec![row(Table::NodePools, name)],
        Change::Namespace(name) => vec![row(Table::Namespaces, name)],
        Change::Job(j) | Change::JobGone(j) => {
            let key = row_key(&j.namespace, &j.id);
            vec![WatchKey::Row(Table::Jobs, key.clone()), WatchKey::Row(Table::JobVersion, key)]
        }
        Change::JobVersion(ns, id) => vec![WatchKey::Row(Table::JobVersion, row_key(ns, id))],
        Change::Summary(ns, id) => vec![WatchKey::Row(Table::JobSummary, row_key(ns, id))],
        Change::Eval(e) | Change::EvalGone(e) => {
            vec![row(Table::Evals, &e.id), WatchKey::OfJob(Table::Evals, row_key(&e.namespace, &e.job_id))]
        }
        Change::Alloc(a) | Change::AllocGone(a) => {
            let mut keys = vec![
                row(Table::Allocs, &a.id),
                WatchKey::OfJob(Table::Allocs, row_key(&a.namespace, &a.job_id)),
                WatchKey::OfNode(a.node_id.clone()),
                WatchKey::OfEval(a.eval_id.clone()),
            ];
            if !a.deployment_id.is_empty() {
                keys.push(WatchKey::OfDeployment(a.deployment_id.clone()));
            }
            keys
        }
        Change::Deployment(d) | Change::DeploymentGone(d) => {
            vec![row(Table::Deployment, &d.id), WatchKey::OfJob(Table::Deployment, row_key(&d.namespace, &d.job_id))]
        }
        Change::Service(s) | Change::ServiceGone(s) => {
            vec![WatchKey::Row(Table::ServiceRegistrations, row_key(&s.namespace, &s.service_name))]
        }
        Change::Variable(v) | Change::VariableGone(v) => {
            vec![WatchKey::Row(Table::Variables, row_key(&v.namespace, &v.path))]
        }
        // Reads of single volumes wait for the table.
        Change::HostVolume(_) | Change::HostVolumeGone(_) | Change::Other(_) => vec![],
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::Job;

    async fn woken(w: &Waiter<'_>) -> bool {
        tokio::time::timeout(Duration::from_millis(10), w.changed()).await.is_ok()
    }

    #[tokio::test]
    async fn only_those_concerned_are_woken() {
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
