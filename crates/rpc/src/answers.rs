//! What a server does for each call.

use std::time::Duration;

use super::call::Call;
use super::caller::{Caller, Who};
use super::calls::*;
use super::node_links;
use super::service::{Answers, Service};
use encamp_model::responses::{AllocsGetResponse, NodeClientAllocsResponse, NodeUpdateResponse};
use encamp_server::Error;
use encamp_server::endpoints::{csi, identity, previous_disk};
use encamp_server::error::ErrorKind;
use encamp_server::nodes::node_answer::NodeAnswer;
use encamp_server::nodes::node_rpc;
use encamp_server::pipeline::call_leader;

impl Service {
    fn reply(&self, a: NodeAnswer) -> NodeUpdateResponse {
        NodeUpdateResponse {
            index: a.index,
            heartbeat_ttl: a.heartbeat_ttl,
            servers: self.known(),
            num_nodes: i64::try_from(a.num_nodes).unwrap_or(i64::MAX),
            scheduling_eligibility: a.scheduling_eligibility,
            signed_identity: a.signed_identity,
        }
    }
}

macro_rules! answers {
    ($($call:ident |$this:ident, $args:ident| $body:expr;)*) => {$(
        impl Answers<$call> for Service {
            async fn carry_out(&self, $args: $call) -> Result<<$call as Call>::Result, Error> {
                let $this = self;
                $body
            }
        }
    )*};
}

answers! {
    Ping |s, _c| Ok(s.server.settings().name.clone());
    Register |s, c| {
        if let Some(Caller { address: Some(address), bytes, .. }) = &c.caller
            && node_rpc::is_new(&s.server, &c.node)
            && !s.budgets.new_nodes(*address, *bytes)
        {
            return Err(Error::new(ErrorKind::TooManyRequests, "too many new nodes from this address; try again later"));
        }
        node_rpc::register(&s.server, *c.node, c.token.expose()).await.map(|a| s.reply(a))
    };
    UpdateStatus |s, c| {
        let Who { node_id, proof } = &c.who;
        let answer = node_rpc::update_status(&s.server, node_id, proof, c.identity.expose(), c.status).await;
        answer.map(|a| s.reply(a))
    };
    SignIdentities |s, c| identity::sign(&s.server, &c.who.node_id, &c.who.proof, c.wanted).await;
    GetClientAllocs |s, c| client_allocs(s, &c.who, c.min_index, c.max_wait).await;
    GetClientAllocsConsistent |s, c| client_allocs(s, &c.who, c.min_index, c.max_wait).await;
    GetAllocs |s, c| {
        let (allocs, index) = node_rpc::allocs(&s.server, &c.who.node_id, &c.who.proof, &c.ids, c.min_index).await?;
        Ok(AllocsGetResponse { allocs, index })
    };
    GetPreviousDisk |s, c| previous_disk::find(&s.server, &c.who.node_id, &c.who.proof, &c.alloc_id);
    UpdateAlloc |s, c| node_rpc::update_allocs(&s.server, &c.who.node_id, &c.who.proof, c.allocs).await;
    EmitEvents |s, c| node_rpc::emit_events(&s.server, &c.who.node_id, &c.who.proof, c.events).await;
    UpsertServices |s, c| {
        node_rpc::upsert_services(&s.server, &c.who.node_id, &c.who.proof, c.services).await
    };
    DeleteService |s, c| {
        node_rpc::delete_service(&s.server, &c.who.node_id, &c.who.proof, &c.namespace, &c.id).await
    };
    DrainSelf |s, c| {
        node_rpc::drain_self(&s.server, &c.who.node_id, &c.who.proof, c.strategy, c.meta).await
    };
    Meet |s, c| {
        // The server announces itself, in a datagram that is sealed where there is a key.
        s.gossip.announce(c.from).await;
        Ok(s.gossip.alive().into_iter().map(|k| k.addr).collect())
    };
    Confirm |s, c| s.is_me(c.to);
    Levels |s, c| {
        s.is_me(c.to)?;
        let cluster = s.server.snapshot().capability_level();
        Ok(ServerLevels { own: encamp_host::capability::own(), cluster })
    };
    Vouch |s, c| {
        let own = s.pool().prover();
        Ok(own.is_some_and(|own| own.id() == c.id && own.made(c.by, &c.text)))
    };
    ForceLeave |s, c| Ok(s.gossip.force_leave(&c.name, c.prune));
    Claim |s, c| {
        s.is_me(c.to)?;
        s.promise(c.by).await.map_err(|e| Error::internal(e.to_string()))
    };
    Stand |s, c| {
        s.is_me(c.to)?;
        Ok(s.server.consensus().elect().await?)
    };
    RunWorkerCall |s, c| call_leader::handle(&s.server, c.worker_call).await;
    RemovePeer |s, c| Ok(s.server.consensus().remove_member(c.id).await?);
    Connect |_s, _c| Err(Error::bad("a connection of a node needs a call with an open body"));
    Connected |s, c| Ok(s.links.has(&c.node_id));
    CallNode |s, c| node_links::answer_of(s.links.call(c).await);
    ClaimCsiVolume |s, c| csi::claim(&s.server, &c.who.node_id, &c.who.proof, c.claim).await;
    ReleaseCsiVolume |s, c| csi::release(&s.server, &c.who.node_id, &c.who.proof, c.release).await;
    GetNode |s, c| node_rpc::own_node(&s.server, &c.who.node_id, &c.who.proof);
}

async fn client_allocs(
    s: &Service,
    who: &Who,
    min_index: u64,
    max_wait: Duration,
) -> Result<NodeClientAllocsResponse, Error> {
    let (allocs, index) = node_rpc::client_allocs(&s.server, &who.node_id, &who.proof, min_index, max_wait).await?;
    Ok(NodeClientAllocsResponse { allocs, index })
}
