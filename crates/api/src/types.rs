//! Responses that only clients have a type for: list entries and wrappers. Fields that this program does not use are
//! left out. Responses that servers write as well are in [`encamp_model::responses`] and [`encamp_model::stats`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use encamp_model::csi::CsiSnapshot;
use encamp_model::json::null_is_default;
use encamp_model::{HostVolumeState, SchedulerConfiguration, SecretString};

/// An entry of the lists of volumes.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeListStub {
    /// Its ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The plugin that made it.
    #[serde(rename = "PluginID")]
    pub plugin_id: String,
    /// The node of a host volume.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// The node pool of a host volume.
    pub node_pool: String,
    /// The state of a host volume.
    pub state: HostVolumeState,
    /// Whether the plugin of a CSI volume is healthy on some node.
    pub schedulable: bool,
    /// The mode of the current claims on a CSI volume.
    pub access_mode: String,
    /// Index of its creation.
    pub create_index: u64,
    /// Index of its last change.
    pub modify_index: u64,
}

/// An entry of the list of CSI plugins.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiPluginListStub {
    /// Its ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// The name that the plugin gives itself.
    pub provider: String,
    /// How many controllers are healthy.
    pub controllers_healthy: i64,
    /// How many controllers there should be.
    pub controllers_expected: i64,
    /// On how many nodes the plugin is healthy.
    pub nodes_healthy: i64,
    /// On how many nodes the plugin should run.
    pub nodes_expected: i64,
    /// Index of its creation.
    pub create_index: u64,
}

/// Snapshots of CSI volumes, as a request for one or for a page of them returns them.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiSnapshots {
    /// The snapshots.
    pub snapshots: Vec<CsiSnapshot>,
    /// The token of the next page; empty: there is none.
    pub next_token: String,
}

/// The servers that an agent knows of.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase", default, bound(deserialize = "M: Deserialize<'de> + Default"))]
pub struct AgentMembers<M = AgentMember> {
    /// The servers.
    pub members: Vec<M>,
}

/// A server that an agent knows of.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AgentMember {
    /// Its name, which contains its region.
    pub name: String,
    /// Its address.
    pub addr: String,
    /// The port of gossip.
    pub port: i64,
    /// What it says about itself: `region`, `dc`, `build`, …
    pub tags: BTreeMap<String, String>,
    /// `alive`, `leaving`, `left` or `failed`.
    pub status: String,
    /// The version of the gossip protocol that it speaks.
    pub protocol_cur: i64,
}

/// What an agent says about itself. `S` has the statistics that the caller reads: texts by name, by component.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, bound(deserialize = "S: Deserialize<'de> + Default"))]
pub struct AgentSelf<S = BTreeMap<String, BTreeMap<String, Value>>> {
    /// Its configuration.
    pub config: AgentConfig,
    /// Its statistics.
    pub stats: S,
}

/// The configuration of an agent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AgentConfig {
    /// Its region.
    pub region: Option<String>,
    /// Its settings as a server, by name.
    pub server: Option<Map<String, Value>>,
}

/// The latest result of a service check.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocCheck {
    /// A hash of the check and the allocation.
    #[serde(rename = "ID")]
    pub id: String,
    /// The check's name.
    pub check: String,
    /// The name of the allocation.
    pub group: String,
    /// The task of the service; empty for services of the group.
    pub task: String,
    /// The service's name.
    pub service: String,
    /// `success`, `failure` or `pending`.
    pub status: String,
    /// Of an HTTP answer; 0: there is none.
    pub status_code: i64,
    /// `healthiness` or `readiness`.
    pub mode: String,
    /// Unix seconds.
    pub timestamp: i64,
    /// The response of the check, or the reason why it failed.
    pub output: String,
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
