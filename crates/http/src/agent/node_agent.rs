//! The agent of a node, to which a server makes calls.

use std::sync::Arc;

use super::local_client::LocalClient;
use super::node_connections::{NodeCall, NodeConnections, NodeError, NodeReply};
use super::state::AppState;
use encamp_model::HostVolume;

/// The agent of a node, in this process or reached over its connection.
#[derive(Clone)]
pub(crate) struct NodeAgent {
    id: String,
    way: Way,
}

#[derive(Clone)]
enum Way {
    Here(Arc<dyn LocalClient>),
    Connection(Arc<dyn NodeConnections>),
}

impl NodeAgent {
    /// The agent of a node. Whether there is a path to it shows when it is called.
    ///
    /// # Errors
    /// No path: this agent has no server.
    pub(crate) fn of(app: &AppState, id: &str) -> Result<NodeAgent, NodeError> {
        let local = app.client().filter(|c| c.node_id() == id).cloned().map(Way::Here);
        let way = local.or_else(|| app.nodes().cloned().map(Way::Connection)).ok_or(NodeError::NoPath)?;
        Ok(NodeAgent { id: id.into(), way })
    }

    async fn call(&self, call: NodeCall) -> Result<NodeReply, NodeError> {
        match &self.way {
            Way::Here(client) => call.carry_out(client).await.map_err(NodeError::Refused),
            Way::Connection(nodes) => nodes.call(&self.id, call).await,
        }
    }

    /// Creates a host volume; returns its directory on the node and its size in bytes.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub(crate) async fn create_volume(&self, volume: &HostVolume) -> Result<(String, i64), NodeError> {
        match self.call(NodeCall::CreateVolume(Box::new(volume.clone()))).await? {
            NodeReply::Created { path, bytes } => Ok((path, bytes)),
            NodeReply::Done | NodeReply::Csi(_) => {
                Err(NodeError::Broken(format!("node {} did not say where the volume is", self.id)))
            }
        }
    }

    /// Registers an existing directory as a host volume.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub(crate) async fn register_volume(&self, volume: &HostVolume) -> Result<(), NodeError> {
        self.call(NodeCall::RegisterVolume(Box::new(volume.clone()))).await.map(drop)
    }

    /// Deletes a host volume.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub(crate) async fn delete_volume(&self, id: &str) -> Result<(), NodeError> {
        self.call(NodeCall::DeleteVolume(id.into())).await.map(drop)
    }
}
