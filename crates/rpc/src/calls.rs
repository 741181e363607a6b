//! The calls of the protocol: their arguments, and what they give.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::gossip::Identity;
use encamp_model::{Allocation, DrainStrategy, IdentityRequest, Node, NodeEvent, ServiceRegistration, SignedIdentity};
use encamp_raft::ServerId;
use encamp_server::errands::{Errand, Outcome};

/// A call: the type is its arguments.
pub trait Call: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Its name in the path.
    const METHOD: &'static str;
    /// Whether any server may answer from its own state; otherwise the leader does.
    const ANYWHERE: bool = false;
    /// Whether it may be made again when the connection broke.
    const REPEATABLE: bool = false;
    /// What it gives.
    type Result: Serialize + DeserializeOwned + Send + 'static;
}

macro_rules! calls {
    ($($(#[$doc:meta])* $name:ident = $method:literal $([$($flag:ident),*])? -> $result:ty {
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl Call for $name {
            const METHOD: &'static str = $method;
            $($(const $flag: bool = true;)*)?
            type Result = $result;
        }

        /// Arguments may be secret.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}

/// Who calls: a node and what it proves that with.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Who {
    /// ID of the node.
    pub node_id: String,
    /// Its SecretID.
    pub secret_id: String,
    /// Its signed identity; empty if it has none, or wants a new one.
    pub identity: String,
}

/// The answer to a registration or a heartbeat.
#[derive(Default, Serialize, Deserialize)]
pub struct NodeResult {
    /// Index of the write; 0 if nothing was written.
    pub index: u64,
    /// When the next heartbeat is due, in nanoseconds.
    pub heartbeat_ttl: i64,
    /// Addresses of the servers.
    pub servers: Vec<String>,
    /// How many nodes there are.
    pub num_nodes: i64,
    /// Eligibility as the servers see it.
    pub scheduling_eligibility: String,
    /// A new signed identity; empty if there is none.
    pub signed_identity: String,
}

/// What a node has to run.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct AllocIndexes {
    /// AllocModifyIndex by allocation ID.
    pub allocs: BTreeMap<String, u64>,
    /// Index of the state this was read from.
    pub index: u64,
}

/// Allocations in full.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct FullAllocs {
    /// Those that were found.
    pub allocs: Vec<Arc<Allocation>>,
    /// Index of the state this was read from.
    pub index: u64,
}

calls! {
    /// Whether somebody is there, and who.
    Ping = "Status.Ping" [ANYWHERE, REPEATABLE] -> String {}

    /// Registers a node.
    Register = "Node.Register" [REPEATABLE] -> NodeResult {
        /// The node, with its secret.
        node: Box<Node>,
        /// The identity it holds, or the token that introduces it; may be empty.
        token: String,
    }

    /// A heartbeat.
    UpdateStatus = "Node.UpdateStatus" [REPEATABLE] -> NodeResult {
        /// The node.
        who: Who,
        /// Its status.
        status: String,
    }

    /// Tokens for identities of a node's allocations.
    SignIdentities = "Alloc.SignIdentities" [ANYWHERE, REPEATABLE] -> Vec<SignedIdentity> {
        /// The node.
        who: Who,
        /// Which identities.
        wanted: Vec<IdentityRequest>,
    }

    /// What a node has to run; waits for something newer than an index.
    GetClientAllocs = "Node.GetClientAllocs" [ANYWHERE, REPEATABLE] -> AllocIndexes {
        /// The node.
        who: Who,
        /// Wait until the index exceeds this.
        min_index: u64,
        /// How long.
        max_wait: Duration,
    }

    /// The same, from the leader's state.
    GetClientAllocsConsistent = "Node.GetClientAllocsConsistent" [REPEATABLE] -> AllocIndexes {
        /// The node.
        who: Who,
        /// Wait until the index exceeds this.
        min_index: u64,
        /// How long.
        max_wait: Duration,
    }

    /// Allocations in full, from a state newer than an index.
    GetAllocs = "Alloc.GetAllocs" [ANYWHERE, REPEATABLE] -> FullAllocs {
        /// The node.
        who: Who,
        /// Their IDs.
        ids: Vec<String>,
        /// The least index.
        min_index: u64,
    }

    /// Reports of a node on its allocations. Gives the index.
    UpdateAlloc = "Node.UpdateAlloc" [REPEATABLE] -> u64 {
        /// The node.
        who: Who,
        /// The reports.
        allocs: Vec<Allocation>,
    }

    /// Events of a node. Gives the index.
    EmitEvents = "Node.EmitEvents" -> u64 {
        /// The node.
        who: Who,
        /// The events.
        events: Vec<NodeEvent>,
    }

    /// Services of a node's allocations. Gives the index.
    UpsertServices = "ServiceRegistration.Upsert" [REPEATABLE] -> u64 {
        /// The node.
        who: Who,
        /// The services.
        services: Vec<ServiceRegistration>,
    }

    /// Removes a service of one of a node's allocations. Gives the index.
    DeleteService = "ServiceRegistration.DeleteByID" [REPEATABLE] -> u64 {
        /// The node.
        who: Who,
        /// The service's namespace.
        namespace: String,
        /// Its ID.
        id: String,
    }

    /// A node wants to be drained before it leaves. Gives the index.
    DrainSelf = "Node.UpdateDrain" [REPEATABLE] -> u64 {
        /// The node.
        who: Who,
        /// How.
        strategy: DrainStrategy,
        /// What the operator said about it.
        meta: BTreeMap<String, String>,
    }

    /// A node as the servers know it.
    GetNode = "Node.GetNode" [ANYWHERE, REPEATABLE] -> Option<Arc<Node>> {
        /// The node.
        who: Who,
    }

    /// The servers that are known; whoever asks becomes known by it.
    Meet = "Serf.Members" [ANYWHERE, REPEATABLE] -> Vec<Identity> {
        /// Who asks.
        from: Identity,
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
        /// Who promises.
        to: ServerId,
        /// Who makes the cluster.
        by: ServerId,
    }

    /// The leader does something for a worker of another server.
    RunErrand = "Scheduler.Errand" [ANYWHERE] -> Outcome {
        /// What it wants.
        errand: Errand,
    }

    /// A server stands for election.
    Stand = "Raft.Stand" [ANYWHERE, REPEATABLE] -> () {
        /// Which one.
        to: ServerId,
    }

    /// Removes a server from the members of consensus.
    RemovePeer = "Operator.RaftRemovePeerByID" [REPEATABLE] -> () {
        /// Which one.
        id: ServerId,
    }
}
