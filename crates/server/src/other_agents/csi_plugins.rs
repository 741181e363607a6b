//! Calls to the CSI plugins of nodes: how they are asked, which volumes are being changed, and why a call failed.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::error::Error;
use encamp_model::{CsiCall, CsiError, CsiErrorKind, CsiReply};

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
    pub(crate) fn elsewhere(&self) -> bool {
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

    /// How nodes are asked; `None` as long as it is not set.
    pub(crate) fn nodes(&self) -> Option<Arc<dyn Nodes>> {
        self.nodes.get().cloned()
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
