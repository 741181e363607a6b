//! Responses that only clients have a type for: list entries and wrappers. Fields that this program does not use are
//! left out. Responses that servers write as well are in [`encamp_model::responses`] and [`encamp_model::stats`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use encamp_model::SchedulerConfiguration;
use encamp_model::json::null_is_default;

/// An entry of the lists of volumes.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeListStub {
    /// Its ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// Its namespace.
    pub namespace: String,
    /// Index of its last change.
    pub modify_index: u64,
}

/// The scheduler configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SchedulerConfigurationResponse {
    /// Null before the first leader wrote one.
    pub scheduler_config: Option<SchedulerConfiguration>,
}

/// The result of joining servers.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JoinResponse {
    /// Servers joined.
    pub num_joined: u64,
    /// The error.
    pub error: String,
}

/// The keys that encrypt gossip on all servers. The texts of keys are secret.
#[null_is_default]
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub struct GossipKeys {
    /// Messages about servers, by their names.
    pub messages: BTreeMap<String, String>,
    /// The number of servers that have a key, by its text.
    pub keys: BTreeMap<String, u64>,
    /// The number of servers that encrypt with a key, by its text; empty if the servers do not report it.
    pub primary_keys: BTreeMap<String, u64>,
    /// The number of servers that were asked.
    pub num_nodes: u64,
}

impl std::fmt::Debug for GossipKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GossipKeys")
            .field("messages", &self.messages)
            .field("keys", &self.keys.len())
            .field("num_nodes", &self.num_nodes)
            .finish_non_exhaustive()
    }
}

/// The Raft configuration: its peers.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RaftConfiguration {
    /// The servers.
    pub servers: Vec<RaftServer>,
}

/// A Raft peer.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RaftServer {
    /// Its ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// Its name.
    pub node: String,
    /// Its RPC address.
    pub address: String,
    /// Whether it leads.
    pub leader: bool,
    /// Whether it votes.
    pub voter: bool,
    /// The version of the protocol it speaks.
    pub raft_protocol: String,
}
