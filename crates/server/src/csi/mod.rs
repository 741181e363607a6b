//! What servers ask the CSI plugins of nodes to do (`docs/spec/client.md §24.2`).
//!
//! - [`release`]: the steps that free a claim. [`watcher`]: on the leader, frees the claims of allocations that ended.
//! - How plugins are asked: [`csi_plugins`](crate::other_agents::csi_plugins).

pub mod release;
#[cfg(test)]
mod tests;
pub mod watcher;

use std::time::Duration;

use crate::leading::Leading;
use encamp_model::*;
use encamp_state::State;

pub use crate::other_agents::csi_plugins::{AskError, Nodes};

/// The longest wait for a plugin. Nodes wait a little longer for a claim.
const LONGEST_CALL: Duration = Duration::from_secs(280);

/// Asks the plugin of a node.
///
/// # Errors
/// See [`AskError`].
pub async fn ask_node(
    server: &Leading,
    node_id: &str,
    plugin_id: &str,
    operation: CsiOperation,
) -> Result<CsiReply, AskError> {
    let nodes = server.csi().nodes().ok_or(AskError::NoPath)?;
    let call = CsiCall { plugin_id: plugin_id.into(), operation };
    match tokio::time::timeout(LONGEST_CALL, nodes.ask(node_id, call)).await {
        Ok(answer) => answer,
        Err(_) => Err(AskError::Broken(format!("plugin {plugin_id} on node {node_id} did not answer in time"))),
    }
}

/// The nodes whose controllers can be asked, in the order in which they are.
pub(crate) fn controllers(state: &State, plugin: &CsiPlugin) -> Vec<String> {
    let ready = |id: &String| state.node(id).is_some_and(|n| n.node.status == NodeStatus::Ready);
    let healthy = plugin.controllers.iter().filter(|(id, info)| info.healthy && ready(id));
    healthy.map(|(id, _)| id.clone()).collect()
}

/// Asks a controller of a plugin: the healthy ones in turn, until one is there.
///
/// # Errors
/// See [`AskError`].
pub async fn ask_controller(
    server: &Leading,
    plugin: &CsiPlugin,
    operation: CsiOperation,
) -> Result<CsiReply, AskError> {
    let mut last = AskError::NoController(plugin.id.clone());
    for node in controllers(server.snapshot().state(), plugin) {
        match ask_node(server, &node, &plugin.id, operation.clone()).await {
            Err(e) if e.elsewhere() => last = e,
            answer => return answer,
        }
    }
    Err(last)
}

/// Whether the controller of a plugin attaches volumes to nodes, and detaches them.
pub(crate) fn attaches(plugin: &CsiPlugin) -> bool {
    let mut known = plugin.controllers.values().filter_map(|i| i.controller_info.as_ref()).peekable();
    // As long as no controller says what it can do, the answer is the safe one.
    plugin.controller_required && (known.peek().is_none() || known.any(|i| i.supports_attach_detach))
}

/// The storage provider's ID of a node; empty: the plugin has not reported it.
pub(crate) fn external_node_id(plugin: &CsiPlugin, node_id: &str) -> String {
    let info = plugin.nodes.get(node_id).and_then(|i| i.node_info.as_ref());
    info.map(|i| i.id.clone()).unwrap_or_default()
}

/// The answer of a plugin that has nothing to tell.
///
/// # Errors
/// It reported a change.
pub(crate) fn done(reply: CsiReply, plugin: &str) -> Result<(), AskError> {
    match reply {
        CsiReply::Done => Ok(()),
        CsiReply::Created { .. }
        | CsiReply::Expanded { .. }
        | CsiReply::Attached { .. }
        | CsiReply::Volumes { .. }
        | CsiReply::Snapshot(_)
        | CsiReply::Snapshots { .. } => Err(AskError::Odd(plugin.into())),
    }
}
