//! What servers ask the CSI plugins of nodes to do (`docs/spec/client.md §24.2`).
//!
//! - [`release`]: the steps that free a claim. [`watcher`]: on the leader, frees the claims of allocations that ended.

pub mod release;
#[cfg(test)]
mod tests;
pub mod watcher;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::Server;
use crate::error::Error;
use encamp_model::*;
use encamp_state::State;

/// The longest wait for a plugin. Nodes wait a little longer for a claim.
const LONGEST_CALL: Duration = Duration::from_secs(280);

/// Why a node's plugin did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// No server reaches the node: nothing was done.
    #[error("no path to the node")]
    NoPath,
    /// The connection broke before the answer: the plugin may have done it.
    #[error("{0}")]
    Broken(String),
    /// The plugin refused, or does not run on the node.
    #[error("{0}")]
    Plugin(#[from] CsiError),
    /// No node runs a healthy controller of the plugin.
    #[error("no node with a healthy controller of plugin {0}")]
    NoController(String),
    /// The plugin answered something that was not asked for.
    #[error("plugin {0} gave an unexpected answer")]
    Odd(String),
}

impl AskError {
    /// Whether nothing was done on this node, and another one can be asked.
    fn elsewhere(&self) -> bool {
        match self {
            AskError::NoPath => true,
            AskError::Plugin(e) => e.kind == CsiErrorKind::NoPlugin,
            AskError::Broken(_) | AskError::NoController(_) | AskError::Odd(_) => false,
        }
    }

    /// Whether the same request may succeed later: plugins start again, and nodes are reached again.
    fn passes(&self) -> bool {
        match self {
            AskError::NoPath | AskError::Broken(_) | AskError::NoController(_) => true,
            AskError::Plugin(e) => match e.kind {
                CsiErrorKind::NoPlugin | CsiErrorKind::Retry => true,
                CsiErrorKind::NotFound | CsiErrorKind::Unsupported | CsiErrorKind::Refused => false,
            },
            AskError::Odd(_) => false,
        }
    }

    /// Whether the storage provider has no such object.
    pub(crate) fn not_found(&self) -> bool {
        matches!(self, AskError::Plugin(e) if e.kind == CsiErrorKind::NotFound)
    }
}

impl From<AskError> for Error {
    fn from(e: AskError) -> Error {
        if e.passes() { Error::not_yet(e) } else { Error::internal(e) }
    }
}

/// Asks the plugins of nodes.
pub trait Nodes: Send + Sync + 'static {
    /// Asks a plugin of a node.
    fn ask<'a>(&'a self, node_id: &'a str, call: CsiCall) -> BoxFuture<'a, Result<CsiReply, AskError>>;
}

type Locks = HashMap<(String, String), Arc<tokio::sync::Mutex<()>>>;

/// What a server needs for CSI volumes besides its state.
#[derive(Default)]
pub(crate) struct Calls {
    nodes: OnceLock<Arc<dyn Nodes>>,
    volumes: Mutex<Locks>,
}

impl Calls {
    /// Sets how nodes are asked, once.
    pub(crate) fn set(&self, nodes: Arc<dyn Nodes>) {
        // A second one is left out: the first one is in use.
        let _ = self.nodes.set(nodes);
    }

    /// Waits until nothing else attaches, detaches or deletes a volume; so does whoever calls this until it drops what
    /// is returned. The locks are those of this server: changes of claims are made by the leader.
    pub(crate) async fn lock(&self, namespace: &str, id: &str) -> tokio::sync::OwnedMutexGuard<()> {
        let lock = {
            let mut volumes = self.volumes.lock();
            volumes.retain(|_, lock| Arc::strong_count(lock) > 1);
            volumes.entry((namespace.into(), id.into())).or_default().clone()
        };
        lock.lock_owned().await
    }
}

/// Asks the plugin of a node.
///
/// # Errors
/// See [`AskError`].
pub async fn ask_node(
    server: &Server,
    node_id: &str,
    plugin_id: &str,
    operation: CsiOperation,
) -> Result<CsiReply, AskError> {
    let nodes = server.csi().nodes.get().ok_or(AskError::NoPath)?.clone();
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
    server: &Server,
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

/// The storage provider's ID of a node; empty: the plugin has not told it.
pub(crate) fn external_node_id(plugin: &CsiPlugin, node_id: &str) -> String {
    let info = plugin.nodes.get(node_id).and_then(|i| i.node_info.as_ref());
    info.map(|i| i.id.clone()).unwrap_or_default()
}

/// The answer of a plugin that has nothing to tell.
///
/// # Errors
/// It told something.
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
