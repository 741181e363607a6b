//! How a server asks the CSI plugins of nodes: of the node of this agent directly, of others over the connections that
//! they keep to servers.

use std::sync::Weak;

use futures_util::future::BoxFuture;

use encamp_http::agent::local_client::LocalClient;
use encamp_http::agent::node_connections::{NodeCall, NodeConnections, NodeError, NodeReply};
use encamp_model::{CsiCall, CsiReply};
use encamp_server::csi::{AskError, Nodes};

/// The plugins of all nodes. Both ways belong to the agent: they know the server, which would else keep itself alive.
pub struct CsiPlugins {
    /// The node of this agent, if it has one.
    pub local: Option<Weak<dyn LocalClient>>,
    /// The other nodes.
    pub nodes: Weak<dyn NodeConnections>,
}

impl Nodes for CsiPlugins {
    fn ask<'a>(&'a self, node_id: &'a str, call: CsiCall) -> BoxFuture<'a, Result<CsiReply, AskError>> {
        Box::pin(async move {
            let local = self.local.as_ref().and_then(Weak::upgrade);
            if let Some(client) = local.filter(|c| c.node_id() == node_id) {
                return Ok(client.ask_csi_plugin(call).await?);
            }
            let nodes = self.nodes.upgrade().ok_or(AskError::NoPath)?;
            let plugin = call.plugin_id.clone();
            match nodes.call(node_id, NodeCall::Csi(Box::new(call))).await {
                Ok(NodeReply::Csi(answer)) => Ok(answer?),
                Ok(NodeReply::Done | NodeReply::Created { .. }) => Err(AskError::Odd(plugin)),
                Err(NodeError::NoPath) => Err(AskError::NoPath),
                Err(NodeError::Broken(text)) => Err(AskError::Broken(text)),
                Err(NodeError::Refused(e)) => Err(AskError::Broken(e.message)),
            }
        })
    }
}
