//! The calls of the protocol: their arguments and results.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::call::Call;
use super::caller::{Caller, Who};
use encamp_http::agent::node_connections::{NodeCall, NodeReply};
use encamp_model::capability::CapabilityLevel;
use encamp_model::responses::{AllocsGetResponse, NodeClientAllocsResponse, NodeUpdateResponse};
use encamp_model::{
    Allocation, Bytes, CsiClaimRequest, CsiClaimed, CsiRelease, DrainStrategy, IdentityRequest, Node, NodeEvent,
    NodeStatus, PreviousDisk, SecretString, ServiceRegistration, SignedIdentity,
};
use encamp_raft::{Answer, Message, ServerId};
use encamp_server::Error;
use encamp_server::other_agents::worker_calls::{Outcome, WorkerCall};

/// Types of calls. `@one` makes one: fields that are not sent, members of [`Call`] beside the usual ones, then the
/// call.
macro_rules! calls {
    (@one { $($own:tt)* } { $($members:tt)* }
        $(#[$doc:meta])* $name:ident = $method:literal $([$($flag:ident),*])? -> $result:ty {
            $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(serde::Serialize, serde::Deserialize)]
        pub struct $name {
            $($own)*
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl Call for $name {
            const METHOD: &'static str = $method;
            $($(const $flag: bool = true;)*)?
            type Result = $result;

            $($members)*
        }

        /// Arguments may be secret.
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
    ($($(#[$doc:meta])* $name:ident = $method:literal $([$($flag:ident),*])? -> $result:ty { $($fields:tt)* })*) => {$(
        calls! { @one {} {} $(#[$doc])* $name = $method $([$($flag),*])? -> $result { $($fields)* } }
    )*};
}
/// Calls of nodes. Who calls is in the head of the message alone.
macro_rules! calls_of_nodes {
    ($($(#[$doc:meta])* $name:ident = $method:literal $([$($flag:ident),*])? -> $result:ty { $($fields:tt)* })*) => {$(
        calls! { @one
            {
                /// The node.
                #[serde(skip)]
                pub who: Who,
            }
            {
                fn node(&self) -> Option<Who> {
                    Some(self.who.clone())
                }

                fn called_by(&mut self, caller: &Caller) -> Result<(), Error> {
                    let who = caller.head.node.clone();
                    self.who = who.ok_or_else(|| Error::denied("the call does not identify the calling node"))?;
                    Ok(())
                }
            }
            $(#[$doc])* $name = $method $([$($flag),*])? -> $result { $($fields)* }
        }
    )*};
}

calls! { @one
    {
        /// The caller; `None` within an agent.
        #[serde(skip)]
        pub caller: Option<Caller>,
    }
    {
        fn node(&self) -> Option<Who> {
            // A registration is proven by the secret: it may be what replaces an expired identity.
            Some(Who { node_id: self.node.id.clone(), proof: self.node.secret_id.clone().into() })
        }

        fn called_by(&mut self, caller: &Caller) -> Result<(), Error> {
            let same = |w: &Who| w.node_id == self.node.id && w.proof.secret_id == self.node.secret_id;
            if !caller.head.node.as_ref().is_some_and(same) {
                return Err(Error::denied("the call registers a node other than the calling one"));
            }
            self.caller = Some(caller.clone());
            Ok(())
        }
    }
    /// Registers a node.
    Register = "Node.Register" [REPEATABLE, SECRETS] -> NodeUpdateResponse {
        /// The node, with its secret.
        node: Box<Node>,
        /// The identity it holds, or the token that introduces it; may be empty.
        token: SecretString,
    }
}

calls! {
    /// Whether somebody is there, and who.
    Ping = "Status.Ping" [ANYWHERE, REPEATABLE] -> String {}

    /// The addresses where servers gossip. The server that is asked greets the address of who asks: what is said in
    /// calls makes nobody a member.
    Meet = "Serf.Members" [ANYWHERE, REPEATABLE] -> Vec<SocketAddr> {
        /// Where the server that asks gossips.
        from: SocketAddr,
    }

    /// A server that does not answer has left for good. Gives whether it was known.
    ForceLeave = "Serf.ForceLeave" [ANYWHERE, REPEATABLE] -> bool {
        /// Its name.
        name: String,
        /// It is forgotten.
        prune: bool,
    }

    /// A server without a log promises to let another one make the first cluster.
    Claim = "Raft.Claim" [ANYWHERE, REPEATABLE] -> () {
        /// The promising server.
        to: ServerId,
        /// The bootstrapping server.
        by: ServerId,
    }

    /// A scheduler worker of another server calls the leader.
    RunWorkerCall = "Scheduler.WorkerCall" [ANYWHERE, SECRETS] -> Outcome {
        /// The operation.
        worker_call: WorkerCall,
    }

    /// A server stands for election.
    Stand = "Raft.Stand" [ANYWHERE, REPEATABLE] -> () {
        /// Which one.
        to: ServerId,
    }

    /// Whether the server that is asked is the one with this ID.
    Confirm = "Server.Confirm" [ANYWHERE, REPEATABLE] -> () {
        /// The receiving server.
        to: ServerId,
    }

    /// The capability levels of a server and of its cluster. Builds of the first level do not know the call.
    Levels = "Server.Levels" [ANYWHERE, REPEATABLE] -> ServerLevels {
        /// The receiving server.
        to: ServerId,
    }

    /// Whether a server has a connection of a node.
    Connected = "Node.Connected" [ANYWHERE, REPEATABLE] -> bool {
        /// The node.
        node_id: String,
    }

    /// A server asks the agent of a node to do something: over the connection of the node, or through the server that
    /// has it.
    CallNode = "Node.Call" [ANYWHERE, SECRETS] -> NodeReply {
        /// The node.
        node_id: String,
        /// What it should do.
        call: NodeCall,
    }

    /// The gossip keys of a server, after a change of them if there is one.
    ChangeKeys = "Serf.Keyring" [ANYWHERE, REPEATABLE] -> Bytes {
        /// The change and its receiver, encrypted with the primary key of the calling server.
        sealed: Bytes,
    }

    /// Whether a text that came to a server is that of the server that is asked.
    Vouch = "Server.Vouch" [ANYWHERE, REPEATABLE] -> bool {
        /// The receiving server.
        id: ServerId,
        /// The calling server.
        by: ServerId,
        /// The text.
        text: String,
    }

    /// Removes a server from the members of consensus.
    RemovePeer = "Operator.RaftRemovePeerByID" [REPEATABLE] -> () {
        /// Which one.
        id: ServerId,
    }
}

calls_of_nodes! {
    /// A heartbeat.
    UpdateStatus = "Node.UpdateStatus" [REPEATABLE, SECRETS] -> NodeUpdateResponse {
        /// Its signed identity; empty if it has none, or wants a new one.
        identity: SecretString,
        /// Its status.
        status: NodeStatus,
    }

    /// Opens the connection over which servers send requests to the node: its bytes follow as the bodies of request and
    /// answer.
    Connect = "Node.Connect" [ANYWHERE] -> () {}

    /// Tokens for identities of a node's allocations.
    SignIdentities = "Alloc.SignIdentities" [ANYWHERE, REPEATABLE, SECRETS] -> Vec<SignedIdentity> {
        /// Which identities.
        wanted: Vec<IdentityRequest>,
    }

    /// The allocations of a node; waits for changes after an index.
    GetClientAllocs = "Node.GetClientAllocs" [ANYWHERE, REPEATABLE] -> NodeClientAllocsResponse {
        /// Wait until the index exceeds this.
        min_index: u64,
        /// How long.
        max_wait: Duration,
    }

    /// The same, from the leader's state.
    GetClientAllocsConsistent = "Node.GetClientAllocsConsistent" [REPEATABLE] -> NodeClientAllocsResponse {
        /// Wait until the index exceeds this.
        min_index: u64,
        /// How long.
        max_wait: Duration,
    }

    /// Allocations in full, from a state newer than an index.
    GetAllocs = "Alloc.GetAllocs" [ANYWHERE, REPEATABLE] -> AllocsGetResponse {
        /// Their IDs.
        ids: Vec<String>,
        /// The least index.
        min_index: u64,
    }

    /// Where the disk is that an allocation of the node takes over from another node; nothing if there is none to move.
    /// From the leader's state: a server that lags behind would take the previous allocation for running.
    GetPreviousDisk = "Alloc.GetPreviousDisk" [REPEATABLE, SECRETS] -> Option<PreviousDisk> {
        /// The allocation that takes it over.
        alloc_id: String,
    }

    /// Reports of a node on its allocations. Gives the index.
    UpdateAlloc = "Node.UpdateAlloc" [REPEATABLE] -> u64 {
        /// The reports.
        allocs: Vec<Allocation>,
    }

    /// Events of a node. Gives the index.
    EmitEvents = "Node.EmitEvents" -> u64 {
        /// The events.
        events: Vec<NodeEvent>,
    }

    /// Services of a node's allocations. Gives the index.
    UpsertServices = "ServiceRegistration.Upsert" [REPEATABLE] -> u64 {
        /// The services.
        services: Vec<ServiceRegistration>,
    }

    /// Removes a service of one of a node's allocations. Gives the index.
    DeleteService = "ServiceRegistration.DeleteByID" [REPEATABLE] -> u64 {
        /// The service's namespace.
        namespace: String,
        /// Its ID.
        id: String,
    }

    /// A node wants to be drained before it leaves. Gives the index.
    DrainSelf = "Node.UpdateDrain" [REPEATABLE] -> u64 {
        /// How.
        strategy: DrainStrategy,
        /// The operator's metadata.
        meta: BTreeMap<String, String>,
    }

    /// Claims a CSI volume for an allocation of a node.
    ClaimCsiVolume = "CSIVolume.Claim" [REPEATABLE, SECRETS] -> CsiClaimed {
        /// What is claimed.
        claim: CsiClaimRequest,
    }

    /// A node has unmounted a CSI volume for an allocation.
    ReleaseCsiVolume = "CSIVolume.Unpublish" [REPEATABLE] -> () {
        /// What is released.
        release: CsiRelease,
    }

    /// A node as the servers know it.
    GetNode = "Node.GetNode" [ANYWHERE, REPEATABLE] -> Option<Arc<Node>> {}
}

/// The capability levels that a server tells others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerLevels {
    /// What the server supports.
    pub own: CapabilityLevel,
    /// The level of its cluster, as far as it has applied the log.
    pub cluster: CapabilityLevel,
}

/// A message, and for whom it is: another server may have taken over its address.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Envelope {
    pub to: ServerId,
    pub message: Message,
    /// The sender, as stated in the header.
    #[serde(skip)]
    pub from: ServerId,
}

impl Call for Envelope {
    const METHOD: &'static str = "Raft.Message";
    const ANYWHERE: bool = true;
    /// Entries of the log.
    const SECRETS: bool = true;
    type Result = Answer;

    fn called_by(&mut self, caller: &Caller) -> Result<(), Error> {
        let from = caller.head.server.as_ref().map(|(id, _)| *id);
        self.from = from.ok_or_else(|| Error::denied("the message does not identify the sending server"))?;
        Ok(())
    }
}
