//! Calls between servers and nodes for CSI volumes (`docs/spec/client.md §24.2`): servers ask the plugins of nodes, and
//! nodes claim volumes for their allocations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::node::CsiTopology;
use super::secret::SecretString;
use super::volume::{CsiVolume, CsiVolumeCapability, CsiVolumeClaim};

/// What a server asks a plugin on a node to do. The node's agent makes the calls of the protocol.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CsiCall {
    /// The plugin.
    pub plugin_id: String,
    /// What it should do.
    pub operation: CsiOperation,
}

/// What a plugin should do. Volumes carry what the servers know about them, secrets and contexts included.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum CsiOperation {
    /// The controller checks that a volume exists and can be used in each of its requested capabilities. Reply: `Done`.
    Validate(Box<CsiVolume>),
    /// The controller creates the volume. Reply: `Created`.
    Create(Box<CsiVolume>),
    /// The controller grows the volume to its requested capacity. Reply: `Expanded`.
    Expand(Box<CsiVolume>),
    /// The controller deletes a volume. One that is not there is deleted. Reply: `Done`.
    Delete {
        /// The storage provider's ID of the volume.
        external_id: String,
        /// Secrets for the plugin.
        secrets: BTreeMap<String, SecretString>,
    },
    /// The controller attaches the volume to the node of a claim. Reply: `Attached`.
    Attach {
        /// The volume.
        volume: Box<CsiVolume>,
        /// The claim.
        claim: CsiVolumeClaim,
    },
    /// The controller detaches a volume from a node. One that is not attached is detached. Reply: `Done`.
    Detach {
        /// The storage provider's ID of the volume.
        external_id: String,
        /// The storage provider's ID of the node.
        external_node_id: String,
        /// Secrets for the plugin.
        secrets: BTreeMap<String, SecretString>,
    },
    /// The controller lists volumes of the storage provider. Reply: `Volumes`.
    ListVolumes(CsiPage),
    /// The controller takes a snapshot. Reply: `Snapshot`.
    CreateSnapshot {
        /// The storage provider's ID of the volume.
        external_id: String,
        /// The name; the plugin gives the same snapshot to calls of the same name.
        name: String,
        /// Parameters of the plugin.
        parameters: BTreeMap<String, String>,
        /// Secrets for the plugin.
        secrets: BTreeMap<String, SecretString>,
    },
    /// The controller deletes a snapshot. One that is not there is deleted. Reply: `Done`.
    DeleteSnapshot {
        /// The storage provider's ID.
        id: String,
        /// Secrets for the plugin.
        secrets: BTreeMap<String, SecretString>,
    },
    /// The controller lists snapshots. Reply: `Snapshots`.
    ListSnapshots {
        /// Which part of the list.
        page: CsiPage,
        /// Secrets for the plugin.
        secrets: BTreeMap<String, SecretString>,
    },
    /// The node unmounts a volume for an allocation, and unstages it if no other allocation of the node uses it. What is
    /// not mounted is done. Reply: `Done`.
    Unmount {
        /// The volume.
        volume: Box<CsiVolume>,
        /// The claim of the allocation.
        claim: CsiVolumeClaim,
    },
    /// The node grows the file system of a volume that it has mounted. Reply: `Done`.
    ExpandOnNode {
        /// The volume, with its new capacity.
        volume: Box<CsiVolume>,
        /// A claim of an allocation on the node.
        claim: CsiVolumeClaim,
    },
}

/// A part of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CsiPage {
    /// At most so many entries; 0: as many as the plugin likes.
    pub max_entries: u32,
    /// Where it begins; empty: at the start of the list.
    pub start: String,
}

/// What a plugin did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum CsiReply {
    /// What was asked for.
    Done,
    /// It created a volume.
    Created {
        /// The storage provider's ID.
        external_id: String,
        /// Bytes; 0: the plugin does not say.
        capacity: u64,
        /// What later calls for the volume need.
        context: BTreeMap<String, String>,
        /// Where it is accessible; empty: everywhere.
        topologies: Vec<CsiTopology>,
    },
    /// It grew a volume.
    Expanded {
        /// Bytes.
        capacity: u64,
        /// Nodes that mount the volume have to grow it too.
        node_too: bool,
    },
    /// It attached a volume.
    Attached {
        /// What the node's plugin needs to mount it.
        context: BTreeMap<String, String>,
    },
    /// A part of its volumes.
    Volumes {
        /// The entries.
        volumes: Vec<CsiExternalVolume>,
        /// Where the next part begins; empty: this is the last one.
        next: String,
    },
    /// It took a snapshot.
    Snapshot(CsiSnapshot),
    /// A part of its snapshots.
    Snapshots {
        /// The entries.
        snapshots: Vec<CsiSnapshot>,
        /// Where the next part begins; empty: this is the last one.
        next: String,
    },
}

/// Why a plugin did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct CsiError {
    /// What the caller can do about it.
    pub kind: CsiErrorKind,
    /// For people; without secrets.
    pub text: String,
}

/// What the caller of a plugin can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CsiErrorKind {
    /// No such plugin runs on the node: the call can go to another node.
    NoPlugin,
    /// The plugin did not answer, or is busy: the call can be repeated. It may have been carried out.
    Retry,
    /// The storage provider has no such volume, node or snapshot.
    NotFound,
    /// The plugin cannot do this.
    Unsupported,
    /// The call can not succeed as it is.
    Refused,
}

/// A volume of the storage provider in a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiExternalVolume {
    /// The storage provider's ID.
    #[serde(rename = "ExternalID")]
    pub external_id: String,
    /// Bytes; 0: the plugin does not say.
    pub capacity_bytes: i64,
    /// What later calls for the volume need.
    pub volume_context: BTreeMap<String, String>,
    /// The volume it was made from; empty: none.
    #[serde(rename = "CloneID")]
    pub clone_id: String,
    /// The snapshot it was made from; empty: none.
    #[serde(rename = "SnapshotID")]
    pub snapshot_id: String,
    /// Nodes that it is attached to, as far as the plugin says.
    #[serde(rename = "PublishedExternalNodeIDs")]
    pub published_external_node_ids: Vec<String>,
    /// Whether something is wrong with it.
    pub is_abnormal: bool,
    /// What is wrong.
    pub status: String,
}

/// A snapshot of a volume of the storage provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiSnapshot {
    /// The storage provider's ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// The storage provider's ID of the volume.
    #[serde(rename = "ExternalSourceVolumeID")]
    pub external_source_volume_id: String,
    /// Bytes that a volume made from it needs; 0: the plugin does not say.
    pub size_bytes: i64,
    /// Unix seconds.
    pub create_time: i64,
    /// Whether volumes can be made from it already.
    pub is_ready: bool,
    /// The volume, if it is registered.
    #[serde(rename = "SourceVolumeID")]
    pub source_volume_id: String,
    /// The plugin.
    #[serde(rename = "PluginID")]
    pub plugin_id: String,
    /// The name that it was asked for with; empty in lists.
    pub name: String,
    /// Secrets for the plugin; only in requests.
    #[serde(with = "super::secret::map")]
    pub secrets: BTreeMap<String, SecretString>,
    /// Parameters of the plugin; only in requests.
    #[serde(with = "super::json::nil")]
    pub parameters: BTreeMap<String, String>,
}

/// A node claims a volume for an allocation, before it mounts it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CsiClaimRequest {
    /// The namespace of the volume.
    pub namespace: String,
    /// The volume.
    pub volume_id: String,
    /// The allocation, which the node runs.
    pub alloc_id: String,
    /// The allocation only reads.
    pub read_only: bool,
    /// How the allocation uses the volume.
    pub capability: CsiVolumeCapability,
}

/// What a node needs to mount a volume that it has claimed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CsiClaimed {
    /// The volume, with secrets and context.
    pub volume: Box<CsiVolume>,
    /// The claim as it is stored.
    pub claim: CsiVolumeClaim,
    /// What the controller returned when it attached the volume; empty: there is no controller.
    pub attach_context: BTreeMap<String, String>,
}

/// A node has unmounted a volume that an allocation claimed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CsiRelease {
    /// The namespace of the volume.
    pub namespace: String,
    /// The volume.
    pub volume_id: String,
    /// The allocation.
    pub alloc_id: String,
}
