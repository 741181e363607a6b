//! What the storage provider knows.

use std::collections::BTreeMap;

use encamp_csi::proto;
use encamp_csi::proto::volume_capability::AccessType;
use encamp_csi::proto::volume_capability::access_mode::Mode;
use serde::{Deserialize, Serialize};
use tonic::Status;

/// A node that a plugin runs on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) topology: BTreeMap<String, String>,
    /// 0: any number.
    pub(crate) max_volumes: u32,
}

/// How a volume is used: an access mode, and whether as a block device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// The name in the protocol: `SINGLE_NODE_WRITER`.
    pub(crate) mode: String,
    pub(crate) block: bool,
}

impl Usage {
    /// Several nodes may use the volume.
    pub(crate) fn many_nodes(&self) -> bool {
        self.mode.starts_with("MULTI_NODE")
    }

    /// Several targets on one node may be mounted.
    pub(crate) fn many_targets(&self) -> bool {
        self.many_nodes() || self.mode == Mode::SingleNodeMultiWriter.as_str_name()
    }

    /// Several nodes may write.
    pub(crate) fn many_writers(&self) -> bool {
        self.mode == Mode::MultiNodeMultiWriter.as_str_name()
    }

    /// Somebody may write.
    pub(crate) fn writes(&self) -> bool {
        !self.mode.ends_with("READER_ONLY")
    }

    /// The usage of a message.
    pub(crate) fn of(capability: Option<&proto::VolumeCapability>) -> Result<Usage, Status> {
        let missing = |what: &str| Status::invalid_argument(format!("{what} is missing"));
        let capability = capability.ok_or_else(|| missing("the volume capability"))?;
        let mode = capability.access_mode.ok_or_else(|| missing("the access mode"))?;
        let mode = match Mode::try_from(mode.mode) {
            Ok(Mode::Unknown) | Err(_) => return Err(missing("a known access mode")),
            Ok(mode) => mode.as_str_name().to_string(),
        };
        let block = match capability.access_type.as_ref().ok_or_else(|| missing("the access type"))? {
            AccessType::Block(_) => true,
            AccessType::Mount(_) => false,
        };
        Ok(Usage { mode, block })
    }
}

/// What a volume was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Source {
    Snapshot(String),
    Volume(String),
}

/// A node that a volume is attached to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attachment {
    pub(crate) usage: Usage,
    pub(crate) read_only: bool,
}

impl Attachment {
    pub(crate) fn writes(&self) -> bool {
        self.usage.writes() && !self.read_only
    }
}

/// A place where a node has mounted a volume for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Publication {
    pub(crate) node: String,
    pub(crate) target: String,
    pub(crate) usage: Usage,
    pub(crate) read_only: bool,
}

impl Publication {
    pub(crate) fn writes(&self) -> bool {
        self.usage.writes() && !self.read_only
    }
}

/// A place where a node has staged a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stage {
    pub(crate) node: String,
    pub(crate) path: String,
    pub(crate) usage: Usage,
}

/// A volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Volume {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) capacity: u64,
    pub(crate) usages: Vec<Usage>,
    pub(crate) parameters: BTreeMap<String, String>,
    pub(crate) source: Option<Source>,
    /// Empty: accessible everywhere.
    pub(crate) topology: BTreeMap<String, String>,
    /// By node.
    pub(crate) attached: BTreeMap<String, Attachment>,
    pub(crate) staged: Vec<Stage>,
    pub(crate) published: Vec<Publication>,
}

impl Volume {
    pub(crate) fn block(&self) -> bool {
        self.usages.iter().any(|u| u.block)
    }

    /// What later calls must carry.
    pub(crate) fn context(&self) -> BTreeMap<String, String> {
        [("name".to_string(), self.name.clone())].into()
    }

    /// What `ControllerPublishVolume` gives for a node.
    pub(crate) fn attach_context(&self, node: &str) -> BTreeMap<String, String> {
        [("attachment".to_string(), format!("{}@{node}", self.id))].into()
    }

    /// Whether a node in this place can reach the volume.
    pub(crate) fn reachable(&self, place: &BTreeMap<String, String>) -> bool {
        self.topology.iter().all(|(key, value)| place.get(key) == Some(value))
    }

    pub(crate) fn message(&self) -> proto::Volume {
        let topology = (!self.topology.is_empty()).then(|| proto::Topology { segments: self.topology.clone() });
        proto::Volume {
            capacity_bytes: bytes(self.capacity),
            volume_id: self.id.clone(),
            volume_context: self.context(),
            content_source: self.source.clone().map(|s| s.message()),
            accessible_topology: topology.into_iter().collect(),
        }
    }
}

impl Source {
    fn message(self) -> proto::VolumeContentSource {
        use proto::volume_content_source::{SnapshotSource, Type, VolumeSource};
        let kind = match self {
            Source::Snapshot(snapshot_id) => Type::Snapshot(SnapshotSource { snapshot_id }),
            Source::Volume(volume_id) => Type::Volume(VolumeSource { volume_id }),
        };
        proto::VolumeContentSource { r#type: Some(kind) }
    }
}

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) source: String,
    pub(crate) size: u64,
    /// Unix seconds.
    pub(crate) created: i64,
    pub(crate) block: bool,
}

impl Snapshot {
    pub(crate) fn message(&self) -> proto::Snapshot {
        proto::Snapshot {
            size_bytes: bytes(self.size),
            snapshot_id: self.id.clone(),
            source_volume_id: self.source.clone(),
            creation_time: Some(prost_types::Timestamp { seconds: self.created, nanos: 0 }),
            ready_to_use: true,
            ..Default::default()
        }
    }
}

pub(crate) fn bytes(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
