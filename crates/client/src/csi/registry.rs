//! The storage plugins of a node that have become healthy, and how the node shows them.

use std::collections::BTreeMap;

use encamp_csi::Plugin;
use encamp_model::{CsiInfo, CsiService, CsiServices, Time};
use parking_lot::Mutex;

use super::readiness::Found;

/// The task of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PluginTask {
    pub alloc_id: String,
    pub task: String,
    /// The plugin's ID, which volumes name.
    pub plugin_id: String,
    pub services: CsiServices,
}

/// A plugin that can be called.
#[derive(Clone)]
pub(crate) struct Ready {
    pub plugin: Plugin,
    pub found: Found,
}

struct Entry {
    of: PluginTask,
    plugin: Plugin,
    found: Found,
    /// Why it can't be used; `None`: it can.
    trouble: Option<String>,
    /// When its health last changed, in Unix nanoseconds.
    since: i64,
}

/// The plugins, in the order in which they became healthy for the first time. Of those with one ID and a service in
/// common, the last one counts.
#[derive(Default)]
pub(crate) struct Registry(Mutex<Vec<Entry>>);

/// What became of the health of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// It is healthy, and was not.
    Healthy,
    /// It is not, and was.
    Unhealthy,
}

/// The plugins of a node by ID.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Shown {
    pub controllers: BTreeMap<String, CsiInfo>,
    pub nodes: BTreeMap<String, CsiInfo>,
}

impl Registry {
    /// A plugin answered, now in Unix nanoseconds.
    pub(crate) fn answered(&self, of: &PluginTask, plugin: &Plugin, found: Found, now: i64) -> Change {
        let mut entries = self.0.lock();
        if let Some(entry) = entries.iter_mut().find(|e| e.of == *of) {
            entry.found = found;
            let changed = entry.trouble.take().is_some();
            if changed {
                entry.since = now;
                return Change::Healthy;
            }
            return Change::None;
        }
        let rivals =
            entries.iter_mut().filter(|e| e.of.plugin_id == of.plugin_id && e.of.services.overlap(of.services));
        for old in rivals {
            let (plugin_id, alloc_id, older) = (&of.plugin_id, &of.alloc_id, &old.of.alloc_id);
            tracing::warn!(target: "client.csi", plugin_id, alloc_id, older, "two tasks of the node run this plugin; the newer one is used");
        }
        entries.push(Entry { of: of.clone(), plugin: plugin.clone(), found, trouble: None, since: now });
        Change::Healthy
    }

    /// A plugin did not answer.
    pub(crate) fn failed(&self, of: &PluginTask, trouble: String, now: i64) -> Change {
        let mut entries = self.0.lock();
        let Some(entry) = entries.iter_mut().find(|e| e.of == *of) else { return Change::None };
        if entry.trouble.replace(trouble).is_some() {
            return Change::None;
        }
        entry.since = now;
        Change::Unhealthy
    }

    /// The task of a plugin ended.
    pub(crate) fn remove(&self, of: &PluginTask) {
        self.0.lock().retain(|e| e.of != *of);
    }

    /// The plugin that provides a service, if it is healthy.
    pub(crate) fn ready(&self, plugin_id: &str, service: CsiService) -> Option<Ready> {
        let entries = self.0.lock();
        let entry = entries.iter().rfind(|e| e.of.plugin_id == plugin_id && e.of.services.has(service))?;
        entry.trouble.is_none().then(|| Ready { plugin: entry.plugin.clone(), found: entry.found.clone() })
    }

    /// How the node shows the plugins.
    pub(crate) fn shown(&self) -> Shown {
        let mut shown = Shown::default();
        // Later ones replace earlier ones.
        for entry in self.0.lock().iter() {
            let id = &entry.of.plugin_id;
            if let Some(capabilities) = entry.found.controller {
                let info = CsiInfo { controller_info: Some(capabilities.into()), ..entry.info() };
                shown.controllers.insert(id.clone(), info);
            }
            if let Some((description, capabilities)) = &entry.found.node {
                let info = CsiInfo { node_info: Some(description.info(*capabilities)), ..entry.info() };
                shown.nodes.insert(id.clone(), info);
            }
        }
        shown
    }
}

impl Entry {
    /// What controller and node plugins have in common.
    fn info(&self) -> CsiInfo {
        CsiInfo {
            plugin_id: self.of.plugin_id.clone(),
            alloc_id: self.of.alloc_id.clone(),
            healthy: self.trouble.is_none(),
            health_description: self.trouble.clone().unwrap_or_else(|| "healthy".into()),
            update_time: Time::from_unix_nanos(self.since),
            provider: self.found.identity.name.clone(),
            provider_version: self.found.identity.version.clone(),
            requires_controller_plugin: self.found.capabilities.controller,
            requires_topologies: self.found.capabilities.topologies,
            controller_info: None,
            node_info: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_csi::{ExternalNodeId, Limits, NodeCapabilities, NodeDescription, PluginCapabilities, PluginIdentity};

    fn of(alloc_id: &str, plugin_type: &str) -> (PluginTask, Found) {
        let services = CsiServices::of_type(plugin_type).unwrap();
        let task = PluginTask { alloc_id: alloc_id.into(), task: "t".into(), plugin_id: "disks".into(), services };
        let node = NodeDescription { id: ExternalNodeId::new("n1"), max_volumes: Some(8), topology: None };
        let found = Found {
            identity: PluginIdentity { name: "disks.example".into(), version: "2".into() },
            capabilities: PluginCapabilities { controller: true, ..Default::default() },
            controller: services.controller.then(Default::default),
            node: services.node.then(|| (node, NodeCapabilities { stage: true, ..Default::default() })),
        };
        (task, found)
    }

    #[test]
    fn the_newest_plugin_counts() {
        let registry = Registry::default();
        let plugin = |name: &str| Plugin::new(format!("/{name}"), Limits::default());
        let (a, found) = of("a", "monolith");
        assert_eq!(registry.failed(&a, "early".into(), 1), Change::None);
        assert_eq!(registry.answered(&a, &plugin("a"), found.clone(), 5), Change::Healthy);
        assert_eq!(registry.answered(&a, &plugin("a"), found.clone(), 6), Change::None);
        let shown = registry.shown();
        let info = &shown.nodes["disks"];
        assert!(info.healthy && info.requires_controller_plugin && info.controller_info.is_none());
        assert_eq!((info.alloc_id.as_str(), info.provider.as_str()), ("a", "disks.example"));
        assert_eq!(info.update_time, Time::from_unix_nanos(5));
        let node = info.node_info.as_ref().unwrap();
        assert!(node.requires_node_stage_volume && node.max_volumes == 8 && node.id == "n1");
        assert!(shown.controllers["disks"].controller_info.is_some());

        let (b, other) = of("b", "node");
        assert_eq!(registry.answered(&b, &plugin("b"), other, 7), Change::Healthy);
        let ready = |service| registry.ready("disks", service).map(|r| r.plugin.socket().to_path_buf());
        assert_eq!(ready(CsiService::Node), Some("/b".into()));
        assert_eq!(ready(CsiService::Controller), Some("/a".into()));
        assert_eq!(registry.failed(&b, "no answer".into(), 8), Change::Unhealthy);
        assert_eq!(registry.failed(&b, "no answer".into(), 9), Change::None);
        assert_eq!(ready(CsiService::Node), None);
        let shown = registry.shown();
        assert_eq!(shown.nodes["disks"].health_description, "no answer");
        assert_eq!(shown.nodes["disks"].update_time, Time::from_unix_nanos(8));
        assert!(shown.controllers["disks"].healthy);
        registry.remove(&b);
        assert_eq!(ready(CsiService::Node), Some("/a".into()));
        registry.remove(&a);
        assert_eq!(registry.shown(), Shown::default());
    }
}
