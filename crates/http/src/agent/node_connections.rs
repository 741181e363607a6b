//! The connections that the agents of nodes keep to the servers: requests and calls go to a node through them.

use std::sync::Arc;

use axum::body::Body;
use serde::{Deserialize, Serialize};

use super::local_client::LocalClient;
use super::pending::Pending;
use crate::error::Error;
use encamp_model::{CsiCall, CsiError, CsiReply, HostVolume};

/// The text of an answer if no server has a connection of the node.
pub const NO_PATH: &str = "No path to node";

/// Why a request was not answered by the agent of a node.
#[derive(Debug)]
pub enum NodeError {
    /// No server has a connection of the node; the request did not leave.
    NoPath,
    /// The connection broke before the answer; the node may have carried out the request.
    Broken(String),
    /// The agent of the node refused a call.
    Refused(Error),
}

impl From<NodeError> for Error {
    fn from(e: NodeError) -> Error {
        match e {
            NodeError::NoPath => Error::not_found(NO_PATH),
            NodeError::Broken(text) => Error::internal(text),
            NodeError::Refused(e) => e,
        }
    }
}

/// What a server asks the agent of a node to do. Users cannot make these calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum NodeCall {
    /// Creates a dynamic host volume.
    CreateVolume(Box<HostVolume>),
    /// Registers an existing directory as a host volume.
    RegisterVolume(Box<HostVolume>),
    /// Deletes a host volume, by its ID.
    DeleteVolume(String),
    /// Asks a CSI plugin. Its answer is [`NodeReply::Csi`].
    Csi(Box<CsiCall>),
}

/// The result of a [`NodeCall`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum NodeReply {
    /// The call was carried out.
    Done,
    /// A volume was created.
    Created {
        /// Its directory on the node.
        path: String,
        /// Its size in bytes; 0: unknown.
        bytes: i64,
    },
    /// What a CSI plugin did, or why it did not.
    Csi(Result<CsiReply, CsiError>),
}

impl NodeCall {
    /// Carries out the call on the agent of the node.
    ///
    /// # Errors
    /// Those of the agent.
    pub async fn carry_out(self, client: &Arc<dyn LocalClient>) -> Result<NodeReply, Error> {
        match self {
            NodeCall::CreateVolume(volume) => {
                let (path, bytes) = client.create_volume(&volume).await?;
                Ok(NodeReply::Created { path, bytes })
            }
            NodeCall::RegisterVolume(volume) => client.register_volume(&volume).await.map(|()| NodeReply::Done),
            NodeCall::Csi(call) => Ok(NodeReply::Csi(client.ask_csi_plugin(*call).await)),
            NodeCall::DeleteVolume(id) => client.delete_volume(&id).await.map(|()| NodeReply::Done),
        }
    }
}

/// Reaches the agents of nodes that keep a connection to a server of the cluster.
pub trait NodeConnections: Send + Sync {
    /// Sends a request to the agent of a node. `only_own`: through a connection to this server, and no other one. A
    /// request that opens a websocket is answered with 101, and its connection is passed on.
    fn send<'a>(
        &'a self,
        node_id: &'a str,
        request: axum::extract::Request,
        only_own: bool,
    ) -> Pending<'a, Result<axum::http::Response<Body>, NodeError>>;

    /// Makes a call to the agent of a node.
    fn call<'a>(&'a self, node_id: &'a str, call: NodeCall) -> Pending<'a, Result<NodeReply, NodeError>>;
}
