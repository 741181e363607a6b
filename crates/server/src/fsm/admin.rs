//! Node pools, namespaces, configurations, scaling events, service registrations (`docs/spec/server.md §16-18`).

use std::sync::Arc;

use super::txn::{Change, Txn};
use encamp_model::capability::CapabilityLevel;
use encamp_model::*;
use encamp_ops::Refusal;
use encamp_state::Table;

/// The number of retained scaling events per group.
const SCALING_EVENTS_KEPT: usize = 20;

/// Writes node pools; built-in pools cannot be changed.
pub(crate) fn put_pools(txn: &mut Txn, pools: &[NodePool]) -> Result<(), Refusal> {
    for pool in pools {
        if built_in_pool(&pool.name) {
            return Err(Refusal::PoolChange { name: pool.name.clone() });
        }
        let mut pool = pool.clone();
        pool.create_index = txn.store.state().node_pool(&pool.name).map_or(txn.index, |p| p.create_index);
        pool.modify_index = txn.index;
        let pool = Arc::new(pool);
        txn.store.put_node_pool(pool.clone());
        txn.touch(Table::NodePools);
        txn.changes.push(Change::NodePool(pool.name.clone(), Some(pool)));
    }
    Ok(())
}

/// Whether a node pool is built in.
pub(crate) fn built_in_pool(name: &str) -> bool {
    matches!(name, "all" | "default")
}

/// Removes node pools.
pub(crate) fn delete_pools(txn: &mut Txn, names: &[String]) -> Result<(), Refusal> {
    for name in names {
        if built_in_pool(name) {
            return Err(Refusal::PoolDeletion { name: name.clone() });
        }
        if txn.store.remove_node_pool(name).is_none() {
            return Err(Refusal::PoolNotFound { name: name.clone() });
        }
        txn.touch(Table::NodePools);
        txn.changes.push(Change::NodePool(name.clone(), None));
    }
    Ok(())
}

/// Writes namespaces.
pub(crate) fn put_namespaces(txn: &mut Txn, namespaces: &[Namespace]) -> Result<(), Refusal> {
    for ns in namespaces {
        let mut ns = ns.clone();
        ns.create_index = txn.store.state().namespace(&ns.name).map_or(txn.index, |n| n.create_index);
        ns.modify_index = txn.index;
        txn.changes.push(Change::Namespace(ns.name.clone()));
        txn.store.put_namespace(Arc::new(ns));
        txn.touch(Table::Namespaces);
    }
    Ok(())
}

/// Removes namespaces that are not in use.
pub(crate) fn delete_namespaces(txn: &mut Txn, names: &[String]) -> Result<(), Refusal> {
    for name in names {
        if name == "default" {
            return Err(Refusal::DefaultNamespace);
        }
        if txn.store.state().namespace(name).is_none() {
            return Err(Refusal::NamespaceNotFound);
        }
        let state = txn.store.state();
        if state.jobs().any(|j| j.current.namespace == *name && j.current.status != JobStatus::Dead) {
            return Err(Refusal::NamespaceHasJobs { name: name.clone() });
        }
        if txn.store.variables_below(name, "").next().is_some() {
            return Err(Refusal::NamespaceHasVariables { name: name.clone() });
        }
        txn.store.remove_namespace(name);
        txn.touch(Table::Namespaces);
        txn.changes.push(Change::Namespace(name.clone()));
    }
    Ok(())
}

/// Writes the scheduler configuration; false if the compare-and-set did not match.
pub(crate) fn scheduler_config(txn: &mut Txn, config: &SchedulerConfiguration, cas: Option<u64>) -> bool {
    let stored = txn.store.state().scheduler_config.clone();
    if cas.is_some_and(|n| stored.as_ref().map_or(0, |c| c.modify_index) != n) {
        return false;
    }
    let mut config = config.clone();
    config.create_index = stored.map_or(txn.index, |c| c.create_index);
    config.modify_index = txn.index;
    txn.store.set_scheduler_config(Arc::new(config));
    txn.other(Table::SchedulerConfig);
    true
}

/// Writes the autopilot configuration; false if the compare-and-set did not match.
pub(crate) fn autopilot(txn: &mut Txn, config: &AutopilotConfiguration, cas: Option<u64>) -> bool {
    let stored = txn.store.autopilot().cloned();
    if cas.is_some_and(|n| stored.as_ref().map_or(0, |c| c.modify_index) != n) {
        return false;
    }
    let mut config = config.clone();
    config.create_index = stored.map_or(txn.index, |c| c.create_index);
    config.modify_index = txn.index;
    txn.store.set_autopilot(Arc::new(config));
    txn.other(Table::AutopilotConfig);
    true
}

/// Raises the capability level of the cluster.
pub(crate) fn raise_capability_level(txn: &mut Txn, level: CapabilityLevel) -> Result<(), Refusal> {
    if level > txn.store.capability_level() {
        txn.store.raise_capability_level(level);
        txn.other(Table::ClusterMeta);
    }
    Ok(())
}

/// Sets the cluster metadata, once.
pub(crate) fn cluster_metadata(txn: &mut Txn, meta: &ClusterMetadata) -> Result<(), Refusal> {
    if txn.store.cluster_metadata().is_none() {
        txn.store.set_cluster_metadata(Arc::new(meta.clone()));
        txn.other(Table::ClusterMeta);
    }
    Ok(())
}

/// Records that scaling of a group succeeded or failed: newest event first.
pub(crate) fn scaling_event(txn: &mut Txn, job: &JobKey, group: &str, event: &ScalingEvent) -> Result<(), Refusal> {
    let mut events = match txn.store.scaling_events(&job.namespace, &job.id) {
        Some(e) => JobScalingEvents::clone(e),
        None => JobScalingEvents { namespace: job.namespace.clone(), job_id: job.id.clone(), ..Default::default() },
    };
    let list = events.scaling_events.entry(group.to_string()).or_default();
    list.insert(0, ScalingEvent { create_index: txn.index, ..event.clone() });
    list.truncate(SCALING_EVENTS_KEPT);
    events.modify_index = txn.index;
    txn.store.put_scaling_events(Arc::new(events));
    txn.other(Table::ScalingEvent);
    Ok(())
}

/// Registers services. Unchanged registrations are skipped.
pub(crate) fn put_services(txn: &mut Txn, services: &[ServiceRegistration]) -> Result<(), Refusal> {
    for s in services {
        let stored = txn.store.service(&s.namespace, &s.id);
        let mut new = s.clone();
        new.create_index = stored.map_or(txn.index, |o| o.create_index);
        if let Some(old) = stored {
            new.modify_index = old.modify_index;
            if **old == new {
                continue;
            }
        }
        new.modify_index = txn.index;
        let new = Arc::new(new);
        txn.store.put_service(new.clone());
        txn.touch(Table::ServiceRegistrations);
        txn.changes.push(Change::Service(new));
    }
    Ok(())
}

/// Removes a service registration.
pub(crate) fn delete_service(txn: &mut Txn, id: &(String, String)) -> Result<(), Refusal> {
    if txn.remove_service(&id.0, &id.1) { Ok(()) } else { Err(Refusal::ServiceNotFound) }
}

/// Removes all service registrations of a node.
pub(crate) fn delete_services_of_node(txn: &mut Txn, node_id: &str) -> Result<(), Refusal> {
    let of_node = txn.store.services().filter(|s| s.node_id == node_id);
    let ids: Vec<_> = of_node.map(|s| (s.namespace.clone(), s.id.clone())).collect();
    for (ns, id) in ids {
        txn.remove_service(&ns, &id);
    }
    Ok(())
}
