//! The calls of a node to the servers. The agent implements them in-process if it is also a server, and over the
//! network otherwise; tests have their own implementation.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use encamp_model::responses::{AllocsGetResponse, NodeClientAllocsResponse, NodeUpdateResponse};
use encamp_model::{
    Allocation, CsiClaimRequest, CsiClaimed, CsiRelease, DrainStrategy, IdentityRequest, Node, NodeEvent, NodeStatus,
    PreviousDisk, SecretString, ServiceRegistration, SignedIdentity,
};

/// An answer in the making.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ServersError>>;

/// The calls of a node agent to its servers (`docs/spec/client.md §3`, `§6`, `§7`). An implementation finds a server,
/// forwards to the leader and repeats what may be repeated (`docs/spec/client.md §3.5`); the caller decides when to try
/// again after an error.
pub trait Servers: Send + Sync + 'static {
    /// `Node.Register`: stores the node; `Node::secret_id` and, if there is one, the identity tell who asks.
    fn register<'a>(&'a self, node: &'a Node, token: &'a str) -> Answer<'a, NodeUpdateResponse>;

    /// `Node.UpdateStatus`: a heartbeat. `status` is `ready` as a rule. `renew`: the node wants a new identity.
    fn update_status<'a>(
        &'a self,
        who: &'a Credentials,
        status: NodeStatus,
        renew: bool,
    ) -> Answer<'a, NodeUpdateResponse>;

    /// `Node.GetClientAllocs`: the allocations of this node with their AllocModifyIndex. Blocks until the index exceeds
    /// `min_index`, `max_wait` at most. `consistent`: asks the leader instead of any server.
    fn client_allocs<'a>(
        &'a self,
        who: &'a Credentials,
        min_index: u64,
        max_wait: Duration,
        consistent: bool,
    ) -> Answer<'a, NodeClientAllocsResponse>;

    /// `Alloc.GetAllocs`: the allocations in full, read from a state newer than `min_index`; unknown ones are left out.
    fn allocs<'a>(&'a self, who: &'a Credentials, ids: &'a [String], min_index: u64) -> Answer<'a, AllocsGetResponse>;

    /// `Alloc.GetPreviousDisk`: where the disk is that an allocation of this node takes over from another node. Servers
    /// that move no disks, as by default, know none.
    fn previous_disk<'a>(&'a self, who: &'a Credentials, alloc_id: &'a str) -> Answer<'a, Option<PreviousDisk>> {
        let _ = (who, alloc_id);
        Box::pin(std::future::ready(Ok(None)))
    }

    /// `Node.UpdateAlloc`: reports allocations; only the fields of `docs/spec/client.md §7` are set. Gives the index.
    fn update_allocs<'a>(&'a self, who: &'a Credentials, allocs: Vec<Allocation>) -> Answer<'a, u64>;

    /// `Node.EmitEvents`: events of this node. Gives the index.
    fn emit_events<'a>(&'a self, who: &'a Credentials, events: Vec<NodeEvent>) -> Answer<'a, u64>;

    /// `ServiceRegistration.Upsert`: services of this node's allocations. Gives the index. Servers without a catalogue
    /// of services, as by default, take none of them.
    fn upsert_services<'a>(&'a self, who: &'a Credentials, services: Vec<ServiceRegistration>) -> Answer<'a, u64> {
        let _ = (who, services);
        Box::pin(std::future::ready(Ok(0)))
    }

    /// `ServiceRegistration.DeleteByID`; one that is not there is no error. Gives the index.
    fn delete_service<'a>(&'a self, who: &'a Credentials, namespace: &'a str, id: &'a str) -> Answer<'a, u64> {
        let _ = (who, namespace, id);
        Box::pin(std::future::ready(Ok(0)))
    }

    /// `Alloc.SignIdentities`: tokens for identities of this node's allocations; what is not known is left out. Servers
    /// that sign nothing, as by default, give none.
    fn sign_identities<'a>(
        &'a self,
        who: &'a Credentials,
        wanted: Vec<IdentityRequest>,
    ) -> Answer<'a, Vec<SignedIdentity>> {
        let _ = (who, wanted);
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// `Node.UpdateDrain` of this very node, before it leaves (`docs/spec/client.md §8.5`).
    fn drain_self<'a>(
        &'a self,
        who: &'a Credentials,
        strategy: DrainStrategy,
        meta: BTreeMap<String, String>,
    ) -> Answer<'a, u64>;

    /// `Node.GetNode` of this very node.
    fn node<'a>(&'a self, who: &'a Credentials) -> Answer<'a, Option<Arc<Node>>>;

    /// `Node.Connect`: connects to a server, which sends requests for the agent of this node over the connection, and
    /// returns when it ends. Servers in the same process, as by default, need none.
    fn answer_requests<'a>(&'a self, who: &'a Credentials) -> Answer<'a, ()> {
        let _ = who;
        Box::pin(std::future::pending())
    }

    /// `CSIVolume.Claim`: claims a CSI volume for an allocation of this node. The claim is stored and the volume attached
    /// to the node when it returns.
    /// Servers without volumes, as by default, know none.
    fn claim_csi_volume<'a>(&'a self, who: &'a Credentials, claim: CsiClaimRequest) -> Answer<'a, CsiClaimed> {
        let _ = who;
        let text = format!("volume not found: {}", claim.volume_id);
        Box::pin(std::future::ready(Err(ServersError::NotFound(text))))
    }

    /// `CSIVolume.Unpublish`: this node has unmounted a CSI volume for an allocation. The claim is free when it returns.
    /// Servers without volumes, as by default, have nothing to free.
    fn release_csi_volume<'a>(&'a self, who: &'a Credentials, release: CsiRelease) -> Answer<'a, ()> {
        let _ = (who, release);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Addresses of the servers known now.
    fn known(&self) -> Vec<String>;

    /// The servers that a reply named; a client of the network keeps them.
    fn learn(&self, servers: &[String]) {
        let _ = servers;
    }

    /// Takes those of the servers that answer, instead of the ones known now.
    ///
    /// # Errors
    /// Why each of them does not answer, if none does; the servers known now stay.
    fn replace(&self, servers: Vec<String>) -> BoxFuture<'_, Result<(), Vec<String>>> {
        self.learn(&servers);
        Box::pin(std::future::ready(Ok(())))
    }

    /// Ends when the list of servers changes: waits after errors end with it.
    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// The credentials of the node: its ID and its signed identity; until there is one, its secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// ID of the node.
    pub node_id: String,
    /// Its SecretID.
    pub secret_id: SecretString,
    /// Its signed identity (a JWT), empty if the servers gave none.
    pub identity: SecretString,
}

/// Why the servers gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServersError {
    /// No server is known.
    #[error("no servers")]
    NoServers,
    /// No server could be reached.
    #[error("can't reach server {server}: {reason}")]
    Unreachable {
        /// Its address.
        server: String,
        /// The error.
        reason: String,
    },
    /// There is no leader at the moment.
    #[error("No cluster leader")]
    NoLeader,
    /// The servers don't know this node (any more).
    #[error("node not found")]
    NodeNotFound,
    /// The secret is not the one the node registered with.
    #[error("node secret ID does not match")]
    SecretMismatch,
    /// The servers do not let this node do that.
    #[error("Permission denied")]
    PermissionDenied,
    /// The node's identity was revoked: it needs another secret, and an introduction token issued since.
    #[error("node identity was revoked")]
    Revoked,
    /// The servers don't know something else, in their words.
    #[error("{0}")]
    NotFound(String),
    /// The servers can't give it at the moment, in their words: the same call may succeed later.
    #[error("{0}")]
    NotYet(String),
    /// Any other refusal, in the servers' words.
    #[error("{0}")]
    Refused(String),
}
