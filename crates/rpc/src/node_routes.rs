//! The ways from a server to the agents of all nodes: a server without a connection of a node forwards requests to the
//! one that has it.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::calls::{CallNode, Connected};
use super::node_links::{CALL, failed};
use super::passing;
use super::pool::Pool;
use super::service::Service;
use encamp_http::agent::node_connections::{NodeCall, NodeConnections, NodeError, NodeReply};
use encamp_http::agent::pending::Pending;

/// Longest wait for the answer of a server that is asked for a connection of a node.
const ASK: Duration = Duration::from_secs(2);

/// The ways from a server to the nodes of the cluster.
pub struct NodeRoutes {
    service: Service,
    /// Connections of their own, because answers may go on for long.
    pool: Pool,
}

impl NodeRoutes {
    /// The ways from the server of a service.
    pub fn new(service: Service) -> NodeRoutes {
        let pool = service.pool().another();
        NodeRoutes { service, pool }
    }

    /// The address of the server that has a connection of a node. All are asked at once, the first one that has it is
    /// taken.
    async fn server_of(&self, node_id: &str) -> Option<(encamp_raft::ServerId, String)> {
        let own = self.service.gossip().own().id;
        let asked: FuturesUnordered<_> = self
            .service
            .gossip()
            .alive()
            .into_iter()
            .filter(|known| known.id != own)
            .map(|known| async move {
                let call = Connected { node_id: node_id.into() };
                let answer = self.pool.call_server(ASK, known.id, &known.rpc, &call).await;
                answer.is_ok_and(|has| has).then_some((known.id, known.rpc))
            })
            .collect();
        let mut having = asked.filter_map(std::future::ready);
        having.next().await
    }

    async fn forward(
        &self,
        node_id: &str,
        mut request: Request<Body>,
        only_own: bool,
    ) -> Result<Response<Body>, NodeError> {
        if self.service.links().has(node_id) || only_own {
            return self.service.links().send(node_id, request).await;
        }
        let (_, address) = self.server_of(node_id).await.ok_or(NodeError::NoPath)?;
        self.pool.reach(&address).await.map_err(failed)?;
        let (outgoing, websocket) =
            passing::outgoing(&address, &mut request, true).map_err(|e| NodeError::Broken(e.to_string()))?;
        let response = self.pool.send(&address, outgoing).await.map_err(failed)?;
        Ok(passing::incoming(response, websocket))
    }
}

impl NodeConnections for NodeRoutes {
    fn send<'a>(
        &'a self,
        node_id: &'a str,
        request: Request<Body>,
        only_own: bool,
    ) -> Pending<'a, Result<Response<Body>, NodeError>> {
        Box::pin(self.forward(node_id, request, only_own))
    }

    fn call<'a>(&'a self, node_id: &'a str, call: NodeCall) -> Pending<'a, Result<NodeReply, NodeError>> {
        Box::pin(async move {
            let call = CallNode { node_id: node_id.into(), call };
            if self.service.links().has(node_id) {
                return self.service.links().call(call).await;
            }
            let (server, address) = self.server_of(node_id).await.ok_or(NodeError::NoPath)?;
            self.pool.call_server(CALL + ASK, server, &address, &call).await.map_err(failed)
        })
    }
}
