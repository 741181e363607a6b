//! CSI plugins: rows that follow from what nodes report and from the jobs that run plugins
//! (`docs/spec/garbage-collection.md §4.4, 6.2, 7`). A plugin that nothing runs any more is removed at once.

use std::collections::{BTreeMap, BTreeSet};

use super::txn::Txn;
use encamp_model::*;
use encamp_ops::Refusal;

/// Removes a plugin. Entries of jobs that are gone, or that do not run it any more, do not matter.
pub(crate) fn delete(txn: &mut Txn, id: &str) -> Result<(), Refusal> {
    let Some(plugin) = txn.store.csi_plugin(id) else {
        return Err(Refusal::CsiPluginNotFound { id: id.into() });
    };
    let mut plugin = CsiPlugin::clone(plugin);
    let jobs = plugin.controller_jobs.values().chain(plugin.node_jobs.values()).flat_map(BTreeMap::values);
    let keys: BTreeSet<JobKey> = jobs.map(|j| JobKey::new(&j.namespace, &j.id)).collect();
    for JobKey { namespace, id: job } in &keys {
        let expected = txn.store.state().job(namespace, job).and_then(|j| expected(txn, j).remove(id));
        describe(&mut plugin, namespace, job, expected);
    }
    if !is_empty(&plugin) {
        return Err(Refusal::CsiPluginInUse);
    }
    txn.remove_csi_plugin(id);
    refresh_volumes(txn, id);
    Ok(())
}

/// Whether neither nodes nor jobs run a plugin.
pub(crate) fn is_empty(p: &CsiPlugin) -> bool {
    p.controllers.is_empty() && p.nodes.is_empty() && p.controller_jobs.is_empty() && p.node_jobs.is_empty()
}

/// Updates the plugins after a report of a node.
pub(crate) fn follow_node(txn: &mut Txn, node: &Node, now: i64) {
    let mut ids: BTreeSet<String> =
        node.csi_controller_plugins.keys().chain(node.csi_node_plugins.keys()).cloned().collect();
    ids.extend(plugins_of_node(txn, &node.id));
    for id in &ids {
        change(txn, id, now, |p| {
            set(&mut p.controllers, &node.id, node.csi_controller_plugins.get(id));
            set(&mut p.nodes, &node.id, node.csi_node_plugins.get(id));
        });
    }
}

/// Updates the plugins after a node was removed.
pub(crate) fn forget_node(txn: &mut Txn, node: &str) {
    for id in plugins_of_node(txn, node) {
        change(txn, &id, 0, |p| {
            p.controllers.remove(node);
            p.nodes.remove(node);
        });
    }
}

fn plugins_of_node(txn: &Txn, node: &str) -> Vec<String> {
    let of_node = |p: &&std::sync::Arc<CsiPlugin>| p.controllers.contains_key(node) || p.nodes.contains_key(node);
    txn.store.csi_plugins().filter(of_node).map(|p| p.id.clone()).collect()
}

fn set(map: &mut BTreeMap<String, CsiInfo>, node: &str, info: Option<&CsiInfo>) {
    match info {
        Some(info) => drop(map.insert(node.into(), info.clone())),
        None => drop(map.remove(node)),
    }
}

/// Updates the plugins after a job was written.
pub(crate) fn follow_job(txn: &mut Txn, job: &Job) {
    let wanted = expected(txn, job);
    let mut ids = plugins_of_job(txn, &job.namespace, &job.id);
    ids.extend(wanted.keys().cloned());
    for id in &ids {
        change(txn, id, job.submit_time, |p| describe(p, &job.namespace, &job.id, wanted.get(id).copied()));
    }
}

/// Updates the plugins of a job after its allocations were written: those of system jobs, and of stopped ones.
pub(crate) fn follow_allocs(txn: &mut Txn, namespace: &str, id: &str) {
    let Some(job) = txn.store.state().job(namespace, id).cloned() else { return };
    if job.task_groups.iter().flat_map(|g| &g.tasks).any(|t| t.csi_plugin_config.is_some()) {
        follow_job(txn, &job);
    }
}

/// Updates the plugins after a job was purged.
pub(crate) fn forget_job(txn: &mut Txn, namespace: &str, job: &str) {
    for id in plugins_of_job(txn, namespace, job) {
        change(txn, &id, 0, |p| describe(p, namespace, job, None));
    }
}

/// The plugins that name a job.
fn plugins_of_job(txn: &Txn, namespace: &str, job: &str) -> BTreeSet<String> {
    let has = |jobs: &BTreeMap<String, BTreeMap<String, JobDescription>>| {
        jobs.get(namespace).is_some_and(|jobs| jobs.contains_key(job))
    };
    let named = txn.store.csi_plugins().filter(|p| has(&p.controller_jobs) || has(&p.node_jobs));
    named.map(|p| p.id.clone()).collect()
}

/// Removes what an allocation ran from the plugins: its node may never report that it is gone.
pub(crate) fn alloc_ended(txn: &mut Txn, alloc: &Allocation) {
    let Some(group) = alloc.group() else { return };
    let ids: BTreeSet<String> =
        group.tasks.iter().filter_map(|t| t.csi_plugin_config.as_ref()).map(|c| c.id.clone()).collect();
    for id in ids {
        change(txn, &id, 0, |p| {
            for map in [&mut p.controllers, &mut p.nodes] {
                if map.get(&*alloc.node_id).is_some_and(|i| i.alloc_id == alloc.id) {
                    map.remove(&*alloc.node_id);
                }
            }
        });
    }
}

/// How many controllers and node plugins of each plugin a job should run: the counts of its groups, for system jobs the
/// allocations that run. A stopped job runs plugins as long as allocations of it do, and should run none.
fn expected(txn: &Txn, job: &Job) -> BTreeMap<String, (Option<i64>, Option<i64>)> {
    let mut out: BTreeMap<String, (Option<i64>, Option<i64>)> = BTreeMap::new();
    for group in &job.task_groups {
        let configs: Vec<_> = group.tasks.iter().filter_map(|t| t.csi_plugin_config.as_ref()).collect();
        if configs.is_empty() {
            continue;
        }
        let allocs = txn.store.state().allocs_of_job(&job.namespace, &job.id);
        let runs = |a: &Allocation| a.task_group == group.name && !a.client_terminal();
        let running = allocs.iter().filter(|a| runs(&a.alloc)).count();
        if job.stop && running == 0 {
            continue;
        }
        let system = matches!(job.r#type, JobType::System | JobType::Sysbatch);
        let count = match (job.stop, system) {
            (true, _) => 0,
            (false, true) => i64::try_from(running).unwrap_or(i64::MAX),
            (false, false) => group.count,
        };
        for config in configs {
            let parts = CsiServices::of_type(&config.r#type).unwrap_or_default();
            let entry = out.entry(config.id.clone()).or_default();
            if parts.controller {
                *entry.0.get_or_insert(0) += count;
            }
            if parts.node {
                *entry.1.get_or_insert(0) += count;
            }
        }
    }
    out
}

/// Writes what a job should run of a plugin into it.
fn describe(p: &mut CsiPlugin, namespace: &str, id: &str, expected: Option<(Option<i64>, Option<i64>)>) {
    let (controllers, nodes) = expected.unwrap_or_default();
    for (jobs, expected) in [(&mut p.controller_jobs, controllers), (&mut p.node_jobs, nodes)] {
        match expected {
            Some(expected) => {
                let description = JobDescription { namespace: namespace.into(), id: id.into(), expected };
                jobs.entry(namespace.into()).or_default().insert(id.into(), description);
            }
            None => {
                if let Some(of_namespace) = jobs.get_mut(namespace) {
                    of_namespace.remove(id);
                }
                jobs.retain(|_, of_namespace| !of_namespace.is_empty());
            }
        }
    }
}

/// Changes a plugin, or makes it. The counters follow from its entries; an empty one is removed. `now`: Unix
/// nanoseconds, 0 if the operation does not say.
fn change(txn: &mut Txn, id: &str, now: i64, change: impl FnOnce(&mut CsiPlugin)) {
    if id.is_empty() {
        return;
    }
    let old = txn.store.csi_plugin(id).cloned();
    let mut new = old.as_ref().map(|p| CsiPlugin::clone(p)).unwrap_or_else(|| CsiPlugin {
        id: id.into(),
        create_index: txn.index,
        create_time: now,
        ..Default::default()
    });
    change(&mut new);
    count(&mut new);
    if is_empty(&new) {
        if old.is_some() {
            txn.remove_csi_plugin(id);
            refresh_volumes(txn, id);
        }
        return;
    }
    if old.is_some_and(|old| *old == new) {
        return;
    }
    (new.modify_index, new.modify_time) = (txn.index, new.modify_time.max(now));
    txn.put_csi_plugin(new);
    refresh_volumes(txn, id);
}

fn count(p: &mut CsiPlugin) {
    let healthy = |infos: &BTreeMap<String, CsiInfo>| {
        i64::try_from(infos.values().filter(|i| i.healthy).count()).unwrap_or(i64::MAX)
    };
    let expected = |jobs: &BTreeMap<String, BTreeMap<String, JobDescription>>| {
        jobs.values().flat_map(BTreeMap::values).map(|j| j.expected).sum()
    };
    p.controllers_healthy = healthy(&p.controllers);
    p.nodes_healthy = healthy(&p.nodes);
    p.controllers_expected = expected(&p.controller_jobs);
    p.nodes_expected = expected(&p.node_jobs);
    let infos = || p.controllers.values().chain(p.nodes.values());
    let known = infos().find(|i| !i.provider.is_empty()).map(|i| (i.provider.clone(), i.provider_version.clone()));
    let required = infos().any(|i| i.requires_controller_plugin);
    // A plugin that no node runs at the moment is still what it was.
    if infos().next().is_some() {
        p.controller_required = required;
    }
    if let Some((provider, version)) = known {
        (p.provider, p.version) = (provider, version);
    }
}

/// Writes the health of its plugin into a volume (`docs/spec/snapshot-archive.md §11.4`): the scheduler and the API read
/// it there.
pub(crate) fn refresh(v: &mut CsiVolume, plugin: Option<&CsiPlugin>) {
    v.follow_plugin(plugin);
    if plugin.is_none() {
        // Nothing is left that should run it.
        (v.controllers_expected, v.nodes_expected) = (0, 0);
    }
}

/// The same for all volumes of a plugin. Their indexes do not change: the volumes themselves do not.
fn refresh_volumes(txn: &mut Txn, plugin: &str) {
    let stored = txn.store.csi_plugin(plugin).cloned();
    let volumes: Vec<_> = txn.store.state().csi_volumes().filter(|v| v.plugin_id == plugin).cloned().collect();
    for volume in volumes {
        let mut new = CsiVolume::clone(&volume);
        refresh(&mut new, stored.as_deref());
        if new != *volume {
            txn.store.put_csi_volume(std::sync::Arc::new(new));
        }
    }
}

#[cfg(test)]
#[path = "csi_plugin_tests.rs"]
mod tests;
