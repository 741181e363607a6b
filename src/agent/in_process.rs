//! A client and a server in one agent: the client's calls without a network.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::client::servers::{Allocs, Answer, ClientAllocs, Credentials, NodeReply, Servers, ServersError};
use crate::model::{Allocation, DrainStrategy, IdentityRequest, Node, NodeEvent, ServiceRegistration, SignedIdentity};
use crate::server::endpoints::identity;
use crate::server::endpoints::node_rpc::{self, NodeAnswer};
use crate::server::{Error, Server};

/// The server of this very agent, as its client sees it.
pub struct InProcess(pub Server);

fn failed(e: Error) -> ServersError {
    if e == Error::no_leader() { ServersError::NoLeader } else { ServersError::of_text(&e.message) }
}

impl InProcess {
    fn reply(&self, a: NodeAnswer) -> NodeReply {
        NodeReply {
            index: a.index,
            heartbeat_ttl: a.heartbeat_ttl,
            servers: self.known(),
            num_nodes: i64::try_from(a.num_nodes).unwrap_or(i64::MAX),
            known_leader: true,
            scheduling_eligibility: a.scheduling_eligibility,
            signed_identity: a.signed_identity,
        }
    }
}

impl Servers for InProcess {
    fn register<'a>(&'a self, node: &'a Node, token: &'a str) -> Answer<'a, NodeReply> {
        Box::pin(async move {
            let answer = node_rpc::register(&self.0, node.clone(), token).await.map_err(failed)?;
            Ok(self.reply(answer))
        })
    }

    fn update_status<'a>(&'a self, who: &'a Credentials, status: &'a str, renew: bool) -> Answer<'a, NodeReply> {
        Box::pin(async move {
            let held = if renew { "" } else { &who.identity };
            let answer = node_rpc::update_status(&self.0, &who.node_id, &who.secret_id, held, status).await;
            Ok(self.reply(answer.map_err(failed)?))
        })
    }

    fn sign_identities<'a>(
        &'a self,
        who: &'a Credentials,
        wanted: Vec<IdentityRequest>,
    ) -> Answer<'a, Vec<SignedIdentity>> {
        Box::pin(async move { identity::sign(&self.0, &who.node_id, &who.secret_id, wanted).await.map_err(failed) })
    }

    fn client_allocs<'a>(
        &'a self,
        who: &'a Credentials,
        min_index: u64,
        max_wait: Duration,
        _: bool,
    ) -> Answer<'a, ClientAllocs> {
        Box::pin(async move {
            let found = node_rpc::client_allocs(&self.0, &who.node_id, &who.secret_id, min_index, max_wait).await;
            let (allocs, index) = found.map_err(failed)?;
            Ok(ClientAllocs { allocs, migrate_tokens: BTreeMap::new(), index })
        })
    }

    fn allocs<'a>(&'a self, _: &'a Credentials, ids: &'a [String], min_index: u64) -> Answer<'a, Allocs> {
        Box::pin(async move {
            let (allocs, index) = node_rpc::allocs(&self.0, ids, min_index).await.map_err(failed)?;
            Ok(Allocs { allocs, index })
        })
    }

    fn update_allocs<'a>(&'a self, who: &'a Credentials, allocs: Vec<Allocation>) -> Answer<'a, u64> {
        Box::pin(
            async move { node_rpc::update_allocs(&self.0, &who.node_id, &who.secret_id, allocs).await.map_err(failed) },
        )
    }

    fn emit_events<'a>(&'a self, who: &'a Credentials, events: Vec<NodeEvent>) -> Answer<'a, u64> {
        Box::pin(
            async move { node_rpc::emit_events(&self.0, &who.node_id, &who.secret_id, events).await.map_err(failed) },
        )
    }

    fn upsert_services<'a>(&'a self, who: &'a Credentials, services: Vec<ServiceRegistration>) -> Answer<'a, u64> {
        Box::pin(async move {
            node_rpc::upsert_services(&self.0, &who.node_id, &who.secret_id, services).await.map_err(failed)
        })
    }

    fn delete_service<'a>(&'a self, who: &'a Credentials, namespace: &'a str, id: &'a str) -> Answer<'a, u64> {
        Box::pin(async move {
            node_rpc::delete_service(&self.0, &who.node_id, &who.secret_id, namespace, id).await.map_err(failed)
        })
    }

    fn drain_self<'a>(
        &'a self,
        who: &'a Credentials,
        strategy: DrainStrategy,
        meta: BTreeMap<String, String>,
    ) -> Answer<'a, u64> {
        Box::pin(async move {
            node_rpc::drain_self(&self.0, &who.node_id, &who.secret_id, strategy, meta).await.map_err(failed)
        })
    }

    fn node<'a>(&'a self, who: &'a Credentials) -> Answer<'a, Option<Arc<Node>>> {
        Box::pin(async move { Ok(self.0.snapshot().state().node(&who.node_id).map(|n| n.node.clone())) })
    }

    fn known(&self) -> Vec<String> {
        vec![self.0.settings().rpc_address.clone()]
    }
}
