//! What calls take and return.

use std::collections::BTreeMap;
use std::fmt;

use encamp_model::{CsiControllerInfo, CsiNodeInfo, CsiTopology, CsiTopologyRequest, SecretString};

use crate::modes::Capability;

/// Secrets for the plugin, by name.
pub type Secrets = BTreeMap<String, SecretString>;
/// Values that one call of the plugin returned for other calls.
pub type Context = BTreeMap<String, String>;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// The ID with this text.
            pub fn new(text: impl Into<String>) -> $name {
                $name(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            pub(crate) fn into_text(self) -> String {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// The storage provider's ID of a volume: `CsiVolume::external_id`.
    VolumeId;
    /// The storage provider's ID of a snapshot.
    SnapshotId;
    /// The storage provider's ID of a node: `CsiNodeInfo::id`.
    ExternalNodeId;
}

/// What a plugin is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginIdentity {
    /// The name that the plugin gives itself: `ebs.csi.aws.com`.
    pub name: String,
    /// The version that the plugin gives itself; may be empty.
    pub version: String,
}

/// What a plugin as a whole can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PluginCapabilities {
    /// Volumes need a controller plugin beside the node plugin.
    pub controller: bool,
    /// Volumes are accessible from some nodes only.
    pub topologies: bool,
    /// Volumes can grow while they are in use.
    pub online_expansion: bool,
    /// Volumes can grow while they are not in use.
    pub offline_expansion: bool,
}

/// What a controller plugin can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ControllerCapabilities {
    /// Volumes can be created and deleted.
    pub create_delete: bool,
    /// Volumes are attached to nodes by the controller before nodes mount them.
    pub attach: bool,
    /// Volumes can be listed.
    pub list: bool,
    /// The free capacity can be asked for.
    pub capacity: bool,
    /// Snapshots can be created and deleted.
    pub snapshots: bool,
    /// Snapshots can be listed.
    pub list_snapshots: bool,
    /// Volumes can be made from others.
    pub clone: bool,
    /// Volumes can be attached for reading only.
    pub read_only_attach: bool,
    /// Volumes can grow.
    pub expand: bool,
    /// Lists of volumes tell the nodes that they are attached to.
    pub list_attached_nodes: bool,
    /// One volume can be asked for.
    pub get: bool,
    /// The access modes that tell one writer on a node from several are known.
    pub single_node_multi_writer: bool,
    /// The plugin tells whether volumes are healthy (removed from the protocol in version 1.13).
    pub condition: bool,
}

impl From<ControllerCapabilities> for CsiControllerInfo {
    fn from(c: ControllerCapabilities) -> CsiControllerInfo {
        CsiControllerInfo {
            supports_create_delete: c.create_delete,
            supports_attach_detach: c.attach,
            supports_list_volumes: c.list,
            supports_get_capacity: c.capacity,
            supports_create_delete_snapshot: c.snapshots,
            supports_list_snapshots: c.list_snapshots,
            supports_clone: c.clone,
            supports_read_only_attach: c.read_only_attach,
            supports_expand: c.expand,
            supports_list_volumes_attached_nodes: c.list_attached_nodes,
            supports_condition: c.condition,
            supports_get: c.get,
        }
    }
}

/// What a node plugin can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeCapabilities {
    /// Volumes are staged once per node before they are mounted for tasks.
    pub stage: bool,
    /// The usage of volumes can be asked for.
    pub stats: bool,
    /// Volumes grow on the node too.
    pub expand: bool,
    /// The access modes that tell one writer on a node from several are known.
    pub single_node_multi_writer: bool,
    /// The plugin tells whether volumes are healthy (removed from the protocol in version 1.13).
    pub condition: bool,
}

/// What a plugin says about its node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeDescription {
    /// The storage provider's ID of the node.
    pub id: ExternalNodeId,
    /// How many volumes of the plugin the node can hold; `None`: any number.
    pub max_volumes: Option<u64>,
    /// Where the node is; `None`: the plugin does not say.
    pub topology: Option<CsiTopology>,
}

impl NodeDescription {
    /// The object of the HTTP API. Any number of volumes is the largest `i64` (`docs/spec/scheduling.md §6.7`).
    pub fn info(&self, capabilities: NodeCapabilities) -> CsiNodeInfo {
        let max_volumes = self.max_volumes.map_or(i64::MAX, |n| i64::try_from(n).unwrap_or(i64::MAX));
        CsiNodeInfo {
            id: self.id.as_str().into(),
            max_volumes,
            accessible_topology: self.topology.clone(),
            requires_node_stage_volume: capabilities.stage,
            supports_stats: capabilities.stats,
            supports_expand: capabilities.expand,
            supports_condition: capabilities.condition,
        }
    }
}

/// Bounds of a capacity in bytes; 0: no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CapacityRange {
    /// At least so many bytes.
    pub min: u64,
    /// At most so many bytes.
    pub max: u64,
}

/// What a volume is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeSource {
    /// A snapshot.
    Snapshot(SnapshotId),
    /// Another volume.
    Volume(VolumeId),
}

/// The arguments of `CreateVolume`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateVolume {
    /// The plugin gives the same volume to calls of the same name.
    pub name: String,
    /// The capacity.
    pub capacity: CapacityRange,
    /// Ways in which the volume will be used; at least one.
    pub capabilities: Vec<Capability>,
    /// Parameters of the plugin.
    pub parameters: BTreeMap<String, String>,
    /// Secrets for the plugin.
    pub secrets: Secrets,
    /// What the volume is made from; `None`: it is empty.
    pub source: Option<VolumeSource>,
    /// Where the volume should be accessible; `None`: the plugin chooses.
    pub topologies: Option<CsiTopologyRequest>,
}

/// A volume of the storage provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    /// The storage provider's ID.
    pub id: VolumeId,
    /// Bytes; 0: the plugin does not say.
    pub capacity: u64,
    /// What later calls for the volume need.
    pub context: Context,
    /// What it was made from.
    pub source: Option<VolumeSource>,
    /// Where it is accessible; empty: everywhere.
    pub topologies: Vec<CsiTopology>,
}

/// A volume in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedVolume {
    /// The volume.
    pub volume: Volume,
    /// Nodes that it is attached to, as far as the plugin says.
    pub nodes: Vec<ExternalNodeId>,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// Where the next page begins; `None`: this is the last one.
    pub next: Option<String>,
}

/// Which part of a list to fetch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageRequest {
    /// At most so many entries; 0: as many as the plugin likes.
    pub max_entries: u32,
    /// [`Page::next`] of the page before; `None`: the first page.
    pub start: Option<String>,
}

/// The arguments of `ControllerPublishVolume`.
#[derive(Debug, Clone, PartialEq)]
pub struct AttachVolume {
    /// The volume.
    pub volume: VolumeId,
    /// The node.
    pub node: ExternalNodeId,
    /// How the node uses it.
    pub capability: Capability,
    /// The node does not write.
    pub read_only: bool,
    /// Secrets for the plugin.
    pub secrets: Secrets,
    /// [`Volume::context`].
    pub context: Context,
}

/// The arguments of `ValidateVolumeCapabilities`.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidateVolume {
    /// The volume.
    pub volume: VolumeId,
    /// Ways in which the volume will be used; at least one.
    pub capabilities: Vec<Capability>,
    /// Parameters of the plugin.
    pub parameters: BTreeMap<String, String>,
    /// Secrets for the plugin.
    pub secrets: Secrets,
    /// [`Volume::context`].
    pub context: Context,
}

/// Whether a volume can be used as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validation {
    /// The plugin confirmed all capabilities.
    Confirmed,
    /// It did not; why, as far as it says.
    Refused(String),
}

/// The arguments of `CreateSnapshot`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSnapshot {
    /// The volume.
    pub source: VolumeId,
    /// The plugin gives the same snapshot to calls of the same name.
    pub name: String,
    /// Parameters of the plugin.
    pub parameters: BTreeMap<String, String>,
    /// Secrets for the plugin.
    pub secrets: Secrets,
}

/// A snapshot of the storage provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The storage provider's ID.
    pub id: SnapshotId,
    /// The volume it was taken of.
    pub source: VolumeId,
    /// Bytes that a volume made from it needs; 0: the plugin does not say.
    pub size: u64,
    /// Unix seconds.
    pub created: i64,
    /// Whether volumes can be made from it already.
    pub ready: bool,
}

/// The arguments of `ListSnapshots`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListSnapshots {
    /// Which part of the list.
    pub page: PageRequest,
    /// Snapshots of this volume alone.
    pub source: Option<VolumeId>,
    /// This snapshot alone.
    pub snapshot: Option<SnapshotId>,
    /// Secrets for the plugin.
    pub secrets: Secrets,
}

/// The arguments of `ControllerExpandVolume`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpandVolume {
    /// The volume.
    pub volume: VolumeId,
    /// The new capacity.
    pub capacity: CapacityRange,
    /// How it is used; `None`: it is not.
    pub capability: Option<Capability>,
    /// Secrets for the plugin.
    pub secrets: Secrets,
}

/// What `ControllerExpandVolume` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expanded {
    /// Bytes.
    pub capacity: u64,
    /// Nodes that mount the volume have to expand it too.
    pub node_too: bool,
}

/// The arguments of `NodeStageVolume`.
#[derive(Debug, Clone, PartialEq)]
pub struct StageVolume {
    /// The volume.
    pub volume: VolumeId,
    /// The directory that the plugin prepares the volume in; an absolute path in the plugin's file system.
    pub staging_path: String,
    /// How the node uses it.
    pub capability: Capability,
    /// What `ControllerPublishVolume` returned.
    pub attach_context: Context,
    /// [`Volume::context`].
    pub context: Context,
    /// Secrets for the plugin.
    pub secrets: Secrets,
}

/// The arguments of `NodePublishVolume`.
#[derive(Debug, Clone, PartialEq)]
pub struct MountVolume {
    /// The volume.
    pub volume: VolumeId,
    /// [`StageVolume::staging_path`]; `None`: the plugin does not stage volumes.
    pub staging_path: Option<String>,
    /// Where the volume appears; an absolute path in the plugin's file system, whose parent exists.
    pub target_path: String,
    /// How the task uses it.
    pub capability: Capability,
    /// The task does not write.
    pub read_only: bool,
    /// What `ControllerPublishVolume` returned.
    pub attach_context: Context,
    /// [`Volume::context`].
    pub context: Context,
    /// Secrets for the plugin.
    pub secrets: Secrets,
}

/// The arguments of `NodeExpandVolume`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpandOnNode {
    /// The volume.
    pub volume: VolumeId,
    /// Where it is mounted or staged.
    pub path: String,
    /// [`StageVolume::staging_path`]; `None`: the plugin does not stage volumes.
    pub staging_path: Option<String>,
    /// The new capacity.
    pub capacity: CapacityRange,
    /// How it is used.
    pub capability: Option<Capability>,
    /// Secrets for the plugin.
    pub secrets: Secrets,
}

/// The usage of a mounted volume. Parts that the plugin does not tell are `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VolumeStats {
    /// Bytes.
    pub bytes: Option<Usage>,
    /// Inodes.
    pub inodes: Option<Usage>,
}

/// Used and free units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// All.
    pub total: u64,
    /// Used ones.
    pub used: u64,
    /// Free ones.
    pub available: u64,
}
