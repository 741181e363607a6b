//! Fingerprints networks and their plugins again (`docs/spec/agent-config.md §9.2`).

use super::Agent;
use crate::fingerprint::{self, cni::VERSION};
use encamp_model::NodeResources;

/// The mode of networks of the host.
const HOST: &str = "host";

impl Agent {
    /// Reads the networks of the operator again, and asks the plugins for their versions. Waits for them.
    pub(crate) fn fingerprint_networks(&self) {
        let config = &self.shared.config;
        let (modes, plugins) = (fingerprint::network_modes(config), fingerprint::network_plugins(config));
        let mut node = self.shared.node.write();
        let before = (node.attributes.clone(), node.node_resources.clone());
        node.attributes.retain(|key, _| !key.starts_with(VERSION));
        node.attributes.extend(plugins);
        let mut resources: NodeResources = before.1.as_deref().cloned().unwrap_or_default();
        resources.networks.retain(|n| n.mode == HOST);
        resources.networks.splice(0..0, modes.iter().map(|mode| fingerprint::network_of(mode)));
        let all = resources.node_networks.get_or_insert_default();
        all.retain(|n| n.mode == HOST);
        all.splice(0..0, modes.iter().map(|mode| fingerprint::node_network_of(mode)));
        node.node_resources = Some(resources.into());
        if before != (node.attributes.clone(), node.node_resources.clone()) {
            drop(node);
            self.shared.node_changed.notify_one();
        }
    }
}
