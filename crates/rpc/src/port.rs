//! The RPC port of a server: who calls is checked before a message is read, and what messages take is bounded.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response};
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::call::{Call, Proof, Rule};
use super::caller::{Caller, Head, Who};
use super::calls::*;
use super::cost;
use super::listener::{Handler, Peer};
use super::passing::Interface;
use super::rules::{self, LONGEST_OF_STRANGERS};
use super::service::{Answers, Service};
use super::wire::{self, CallError, FORWARDED};
use encamp_http::routes::metric::Metric;
use encamp_http::serve::bodies::BodyError;
use encamp_http::serve::http1::Origin;
use encamp_server::Error;
use encamp_server::error::ErrorKind;
use encamp_server::nodes::{node_auth, node_rpc};

/// The maximum decoded size of a message of a node, and of one of a caller that this server does not know.
const MOST_COST: (usize, usize) = (96 << 20, 4 << 20);
/// A call that takes more than this keeps it until it is carried out.
const SMALL: usize = 256 << 10;

/// A service as the listener calls it, with the HTTP interface for everything that is no call.
pub struct Port {
    /// Answers the calls.
    pub service: Service,
    /// Answers the rest.
    pub interface: Arc<dyn Interface>,
}

impl Handler for Port {
    fn accepted(&self) {
        self.service.server.metrics().count("nomad.rpc.accept_conn", 1, &[]);
    }

    fn answer(self: Arc<Self>, peer: Peer, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        Box::pin(async move {
            match wire::method(request.uri().path()).map(str::to_string) {
                Some(method) => self.service.answer(&peer, &method, request).await,
                None => {
                    let response = match self.service.check_names(&peer, &rules::INTERFACE) {
                        Ok(()) => self.interface.answer(request).await,
                        Err(e) => wire::refusal(e),
                    };
                    self.service.count(&response);
                    response
                }
            }
        })
    }
}

impl Service {
    /// Checks who calls, before anything of the message is read.
    async fn admit(&self, peer: &Peer, rule: &Rule, head: Head, forwarded: bool) -> Result<Admitted, Error> {
        self.check_names(peer, rule)?;
        let by_member = match rule.proof {
            Proof::Member => self.check_member(peer, &head).await.map(|()| true)?,
            Proof::Nothing | Proof::Node | Proof::NewNode => forwarded && self.check_member(peer, &head).await.is_ok(),
        };
        let knows = |who: &Who| node_rpc::knows(&self.server, &who.node_id, &who.proof);
        let mut known = rule.proof == Proof::Member || head.node.as_ref().is_some_and(knows);
        if rule.proof == Proof::Node && !known && self.leads() {
            // The leader knows best, once it has applied what was committed before. A node that asks for itself is
            // notified that it is gone.
            self.server.wait_ready().await?;
            let Some(who) = &head.node else {
                return Err(Error::denied("the call does not identify the calling node"));
            };
            if rule.method != GetNode::METHOD {
                node_auth::authenticate(&self.server, &who.node_id, &who.proof)?;
                known = true;
            }
        }
        let address = (!by_member).then(|| peer.address.ip());
        Ok(Admitted { head, address, known, forwarded: forwarded && by_member })
    }

    fn check_names(&self, peer: &Peer, rule: &Rule) -> Result<(), Error> {
        match (&self.pool.tls().region, &peer.names) {
            (Some(region), Some(names)) => rule.check_names(region, names),
            (Some(_), None) | (None, _) => Ok(()),
        }
    }

    /// Whether a member of the cluster calls.
    async fn check_member(&self, peer: &Peer, head: &Head) -> Result<(), Error> {
        let Some((id, text)) = &head.server else {
            return Err(Error::denied("the call does not identify the sending server"));
        };
        let own = self.gossip.own().id;
        let members = || self.server.consensus().configuration().servers;
        let in_log = || members().into_iter().find(|m| m.id == *id).map(|m| m.peer.address);
        let known = || self.gossip.address_of(*id).or_else(in_log).or_else(|| self.gossip.last_address_of(*id));
        let address = if *id == own { None } else { known() };
        let address = address.ok_or_else(|| Error::denied(format!("server {id} is not a member of this cluster")))?;
        if let (Some(region), Some(names)) = (&self.pool.tls().region, &peer.names) {
            return rules::SERVERS_ONLY.check_names(region, names);
        }
        self.confirmed.check(&self.pool, own, *id, text, address, peer.address.ip()).await
    }

    /// Answers a call, and measures it.
    async fn answer(&self, peer: &Peer, method: &str, request: Request<Body>) -> Response<Body> {
        let begin = Instant::now();
        let response = self.answer_call(peer, method, request).await;
        let metrics = self.server.metrics();
        if method == Envelope::METHOD {
            metrics.count("nomad.rpc.raft_handoff", 1, &[]);
        } else {
            metric(method).record(metrics, begin.elapsed());
        }
        self.count(&response);
        response
    }

    /// Counts what came over the network.
    fn count(&self, response: &Response<Body>) {
        self.server.metrics().count("nomad.rpc.request", 1, &[]);
        if !response.status().is_success() {
            self.server.metrics().count("nomad.rpc.request_error", 1, &[]);
        }
    }

    /// Answers a call. Its message is read when it is known who calls.
    async fn answer_call(&self, peer: &Peer, method: &str, request: Request<Body>) -> Response<Body> {
        let Some(rule) = rules::of(method) else {
            return wire::refusal(Error::not_found(format!("rpc: can't find method {method}")));
        };
        let (head, body) = request.into_parts();
        let forwarded = head.headers.contains_key(FORWARDED);
        let caller = Head::of(&head.headers);
        drop(head);
        let admitted = match self.admit(peer, rule, caller, forwarded).await {
            Ok(admitted) => admitted,
            Err(e) => return wire::refusal(e),
        };
        if method == Connect::METHOD {
            return match self.proven_node(&admitted) {
                Ok(node_id) => self.links.accept(&self.server, node_id, body),
                Err(e) => wire::refusal(e),
            };
        }
        macro_rules! route {
            ($($call:ident($($rule:tt)*);)*) => {
                match method {
                    // Each in memory of its own: otherwise every open call would take as much as the largest one.
                    $(<$call>::METHOD => Box::pin(self.one::<$call>(rule, admitted, body)).await,)*
                    _ => wire::refusal(Error::not_found(format!("rpc: can't find method {method}"))),
                }
            };
        }
        rules::with_calls!(route)
    }

    /// The node that calls, as this server knows it.
    fn proven_node(&self, admitted: &Admitted) -> Result<String, Error> {
        let who = admitted.head.node.as_ref();
        let who = who.ok_or_else(|| Error::denied("the call does not identify the calling node"))?;
        node_auth::authenticate(&self.server, &who.node_id, &who.proof)?;
        Ok(who.node_id.clone())
    }

    async fn one<C: Call>(&self, rule: &Rule, admitted: Admitted, body: Body) -> Response<Body>
    where
        Service: Answers<C>,
    {
        let Admitted { head, address, known, forwarded } = admitted;
        let (budget, longest) = match rule.proof {
            Proof::Member => (&self.budgets.servers, rule.longest),
            Proof::Nothing | Proof::Node | Proof::NewNode if known => (&self.budgets.nodes, rule.longest),
            Proof::NewNode => (&self.budgets.strangers, rule.longest),
            Proof::Nothing | Proof::Node => (&self.budgets.strangers, rule.longest.min(LONGEST_OF_STRANGERS)),
        };
        let origin = address.map(Origin::Address);
        let (bytes, mut held) = match budget.read(body, longest, origin.as_ref()).await {
            Ok(read) => read,
            Err(e) => return wire::refusal(unread(rule, e)),
        };
        // A call that was forwarded once is not forwarded again: leadership moved, and the first server asks the next
        // one.
        if !C::ANYWHERE && !forwarded && !self.leads() {
            match Box::pin(self.with_leader(C::METHOD, &head, &bytes, C::REPEATABLE)).await {
                Ok(Some(response)) => return response,
                Ok(None) => {}
                Err(CallError::Refused(e)) => return wire::refusal(e),
                Err(e) => return wire::refusal(Error::internal(e.to_string())),
            }
        }
        let done = async {
            let mut small = true;
            if rule.proof != Proof::Member {
                let most = if known { MOST_COST.0 } else { MOST_COST.1 };
                let cost = cost::of(&bytes, most).map_err(|e| Error::bad(format!("{}: {e}", rule.method)))?;
                small = cost <= SMALL;
                if !small {
                    held.join(budget.take(cost, origin.as_ref()).await.map_err(|e| unread(rule, e))?);
                }
            }
            let mut call: C = wire::read(&bytes).map_err(|e| head.explain(e))?;
            call.called_by(&Caller { head, address, bytes: bytes.len() })?;
            drop(bytes);
            // Calls that block are small.
            let _held = (!small).then_some(held);
            self.carry_out(call).await
        };
        wire::response::<C>(done.await)
    }
}

/// A call that may be read.
struct Admitted {
    head: Head,
    /// Where it comes from; `None` for messages of members.
    address: Option<IpAddr>,
    /// This server knows the node or the server that calls.
    known: bool,
    /// A follower has passed it on.
    forwarded: bool,
}

/// Why a message was not read, as an answer.
fn unread(rule: &Rule, e: BodyError) -> Error {
    let kind = match e {
        BodyError::Long(_) => ErrorKind::TooLong,
        BodyError::Slow => ErrorKind::RequestTimeout,
        BodyError::Busy => ErrorKind::Busy,
        BodyError::Broken => ErrorKind::BadRequest,
    };
    Error::new(kind, format!("{}: {e}", rule.method))
}

/// How metrics call the endpoint of a call of nodes, and what it does (`docs/spec/server.md §24`).
fn metric(method: &str) -> Metric {
    match method {
        Register::METHOD => Metric::Write("client", "register"),
        UpdateStatus::METHOD => Metric::Write("client", "update_status"),
        UpdateAlloc::METHOD => Metric::Write("client", "update_alloc"),
        EmitEvents::METHOD => Metric::Write("client", "emit_events"),
        DrainSelf::METHOD => Metric::Write("client", "update_drain"),
        GetClientAllocs::METHOD | GetClientAllocsConsistent::METHOD => Metric::List("client", "get_client_allocs"),
        GetNode::METHOD => Metric::Read("client", "get_node"),
        GetAllocs::METHOD => Metric::List("alloc", "get_allocs"),
        GetPreviousDisk::METHOD => Metric::Read("alloc", "get_previous_disk"),
        SignIdentities::METHOD => Metric::Write("alloc", "sign_identities"),
        ClaimCsiVolume::METHOD => Metric::Write("csi_volume", "claim"),
        ReleaseCsiVolume::METHOD => Metric::Write("csi_volume", "unpublish"),
        UpsertServices::METHOD => Metric::Write("service_registration", "upsert"),
        DeleteService::METHOD => Metric::Write("service_registration", "delete_id"),
        Ping::METHOD => Metric::Read("status", "ping"),
        _ => Metric::NotCounted,
    }
}
