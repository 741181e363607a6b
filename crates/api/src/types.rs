//! Responses that only clients have a type for: list entries and wrappers. Fields that this program does not use are
//! left out. Responses that servers write as well are in [`encamp_model::responses`] and [`encamp_model::stats`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use encamp_model::json::null_is_default;
use encamp_model::{SchedulerConfiguration, SecretString};

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

/// The registered services of a namespace.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NamespaceServices {
    /// The namespace.
    pub namespace: String,
    /// Its services.
    pub services: Vec<ServiceTags>,
}

/// A service and the tags of all its registrations.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServiceTags {
    /// The name of the service.
    pub service_name: String,
    /// Its tags.
    pub tags: Vec<String>,
}

/// The answer to a change of a drain.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DrainResponse {
    /// Raft index of the change of the node.
    pub node_modify_index: u64,
}

/// The metadata of a node. A key without a value was unset.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeMeta {
    /// All of it.
    pub meta: BTreeMap<String, Option<String>>,
    /// What was set at run time.
    pub dynamic: BTreeMap<String, Option<String>>,
    /// What the configuration sets.
    pub r#static: BTreeMap<String, Option<String>>,
}

/// The identity of a node.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeIdentity {
    /// The claims by name.
    pub claims: BTreeMap<String, Value>,
}

/// A token with which a node introduces itself to the servers.
#[null_is_default]
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct IntroductionToken {
    /// The signed token.
    #[serde(rename = "JWT")]
    pub jwt: SecretString,
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
