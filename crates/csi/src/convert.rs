//! Between messages of the protocol and the types of this crate. What a plugin sends is checked: what must be there is
//! there, numbers are not negative, and everything has a bounded size.

use std::collections::BTreeMap;

use encamp_model::{CsiTopology, CsiTopologyRequest};

use crate::error::CallError;
use crate::modes::{Attachment, Capability};
use crate::plugin::Call;
use crate::proto;
use crate::types::{
    CapacityRange, Context, ControllerCapabilities, ExternalNodeId, ListedVolume, NodeCapabilities, PageRequest,
    PluginCapabilities, Secrets, Snapshot, SnapshotId, Usage, Volume, VolumeId, VolumeSource, VolumeStats,
};

/// The longest ID, name or token in bytes. The specification allows 128, which plugins are known to exceed.
const LONGEST_TEXT: usize = 1024;
/// The most bytes of keys and values of a map. The specification allows 4 KiB, which plugins are known to exceed.
const LARGEST_MAP: usize = 64 << 10;
/// The most topologies of a volume, and nodes that it is attached to.
const MOST_PLACES: usize = 1000;
/// Number of the capability `VOLUME_CONDITION` of controllers, removed from the protocol in version 1.13.
const CONTROLLER_CONDITION: i32 = 11;
/// Number of the capability `VOLUME_CONDITION` of nodes, removed from the protocol in version 1.13.
const NODE_CONDITION: i32 = 4;

// What is sent.

pub(crate) fn secrets(secrets: Secrets) -> BTreeMap<String, String> {
    secrets.into_iter().map(|(name, value)| (name, value.expose().to_string())).collect()
}

pub(crate) fn capability(capability: Capability) -> proto::VolumeCapability {
    use proto::volume_capability::{AccessMode, AccessType, BlockVolume, MountVolume};
    let access_type = match capability.attachment {
        Attachment::BlockDevice => AccessType::Block(BlockVolume {}),
        Attachment::FileSystem(options) => AccessType::Mount(MountVolume {
            fs_type: options.fs_type,
            mount_flags: options.mount_flags,
            volume_mount_group: String::new(),
        }),
    };
    proto::VolumeCapability {
        access_mode: Some(AccessMode { mode: capability.access.mode().into() }),
        access_type: Some(access_type),
    }
}

pub(crate) fn capabilities(all: Vec<Capability>) -> Vec<proto::VolumeCapability> {
    all.into_iter().map(capability).collect()
}

/// `None` if there is no bound.
pub(crate) fn capacity_range(range: CapacityRange) -> Option<proto::CapacityRange> {
    let bytes = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let unbounded = range == CapacityRange::default();
    (!unbounded).then(|| proto::CapacityRange { required_bytes: bytes(range.min), limit_bytes: bytes(range.max) })
}

pub(crate) fn content_source(source: VolumeSource) -> proto::VolumeContentSource {
    use proto::volume_content_source::{SnapshotSource, Type, VolumeSource as Source};
    let kind = match source {
        VolumeSource::Snapshot(id) => Type::Snapshot(SnapshotSource { snapshot_id: id.into_text() }),
        VolumeSource::Volume(id) => Type::Volume(Source { volume_id: id.into_text() }),
    };
    proto::VolumeContentSource { r#type: Some(kind) }
}

/// `None` if nothing is required or preferred.
pub(crate) fn topology_requirement(request: CsiTopologyRequest) -> Option<proto::TopologyRequirement> {
    let topologies = |all: Vec<CsiTopology>| -> Vec<proto::Topology> {
        all.into_iter().map(|t| proto::Topology { segments: t.segments }).collect()
    };
    let requirement = proto::TopologyRequirement {
        requisite: topologies(request.required),
        preferred: topologies(request.preferred),
    };
    let empty = requirement.requisite.is_empty() && requirement.preferred.is_empty();
    (!empty).then_some(requirement)
}

/// Number of entries and token of a page.
pub(crate) fn page(request: PageRequest) -> (i32, String) {
    (i32::try_from(request.max_entries).unwrap_or(i32::MAX), request.start.unwrap_or_default())
}

// What is received.

/// A text of an answer, for errors about it.
#[derive(Clone, Copy)]
pub(crate) enum Text {
    /// It must not be empty.
    Required(&'static str),
    /// It may be empty.
    Optional(&'static str),
}

/// Checks a text.
pub(crate) fn text(call: &Call, what: Text, text: String) -> Result<String, CallError> {
    let (name, required) = match what {
        Text::Required(name) => (name, true),
        Text::Optional(name) => (name, false),
    };
    if required && text.is_empty() {
        return Err(call.violation(&format!("the {name} is empty")));
    }
    if text.len() > LONGEST_TEXT {
        let long = format!("the {name} has {} bytes; at most {LONGEST_TEXT} are accepted", text.len());
        return Err(call.violation(&long));
    }
    Ok(text)
}

/// Checks the size of a map.
pub(crate) fn context(call: &Call, what: &str, map: BTreeMap<String, String>) -> Result<Context, CallError> {
    let size: usize = map.iter().map(|(k, v)| k.len() + v.len()).sum();
    if size > LARGEST_MAP {
        return Err(call.violation(&format!("the {what} has {size} bytes; at most {LARGEST_MAP} are accepted")));
    }
    Ok(map)
}

/// Checks that a number is not negative.
pub(crate) fn number(call: &Call, what: &str, number: i64) -> Result<u64, CallError> {
    u64::try_from(number).map_err(|_| call.violation(&format!("the {what} is {number}")))
}

pub(crate) fn topology(call: &Call, topology: proto::Topology) -> Result<CsiTopology, CallError> {
    Ok(CsiTopology { segments: context(call, "topology", topology.segments)? })
}

/// The token of the next page.
pub(crate) fn next(call: &Call, token: String) -> Result<Option<String>, CallError> {
    let token = text(call, Text::Optional("token of the next page"), token)?;
    Ok((!token.is_empty()).then_some(token))
}

/// Checks that a page has no more entries than asked for.
pub(crate) fn entries<T>(call: &Call, asked: i32, entries: &[T]) -> Result<(), CallError> {
    match usize::try_from(asked) {
        Ok(most @ 1..) if entries.len() > most => {
            Err(call.violation(&format!("the page has {} entries; at most {most} were asked for", entries.len())))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

pub(crate) fn volume(call: &Call, volume: Option<proto::Volume>) -> Result<Volume, CallError> {
    let volume = volume.ok_or_else(|| call.violation("the volume is missing"))?;
    if volume.accessible_topology.len() > MOST_PLACES {
        return Err(call.violation(&format!("the volume has {} topologies", volume.accessible_topology.len())));
    }
    let topologies = volume.accessible_topology.into_iter().map(|t| topology(call, t)).collect::<Result<_, _>>()?;
    Ok(Volume {
        id: VolumeId::new(text(call, Text::Required("ID of the volume"), volume.volume_id)?),
        capacity: number(call, "capacity", volume.capacity_bytes)?,
        context: context(call, "context of the volume", volume.volume_context)?,
        source: volume.content_source.and_then(|s| s.r#type).map(|s| source(call, s)).transpose()?,
        topologies,
    })
}

fn source(call: &Call, source: proto::volume_content_source::Type) -> Result<VolumeSource, CallError> {
    use proto::volume_content_source::Type;
    Ok(match source {
        Type::Snapshot(s) => {
            VolumeSource::Snapshot(SnapshotId::new(text(call, Text::Required("source snapshot"), s.snapshot_id)?))
        }
        Type::Volume(v) => {
            VolumeSource::Volume(VolumeId::new(text(call, Text::Required("source volume"), v.volume_id)?))
        }
    })
}

pub(crate) fn listed_volume(
    call: &Call,
    entry: proto::list_volumes_response::Entry,
) -> Result<ListedVolume, CallError> {
    let nodes = entry.status.map(|s| s.published_node_ids).unwrap_or_default();
    if nodes.len() > MOST_PLACES {
        return Err(call.violation(&format!("the volume is attached to {} nodes", nodes.len())));
    }
    let node = |id| text(call, Text::Required("ID of a node"), id).map(ExternalNodeId::new);
    let nodes = nodes.into_iter().map(node).collect::<Result<_, _>>()?;
    Ok(ListedVolume { volume: volume(call, entry.volume)?, nodes })
}

pub(crate) fn snapshot(call: &Call, snapshot: Option<proto::Snapshot>) -> Result<Snapshot, CallError> {
    let snapshot = snapshot.ok_or_else(|| call.violation("the snapshot is missing"))?;
    let source = text(call, Text::Required("ID of the source volume"), snapshot.source_volume_id)?;
    Ok(Snapshot {
        id: SnapshotId::new(text(call, Text::Required("ID of the snapshot"), snapshot.snapshot_id)?),
        source: VolumeId::new(source),
        size: number(call, "size of the snapshot", snapshot.size_bytes)?,
        created: snapshot.creation_time.map_or(0, |t| t.seconds),
        ready: snapshot.ready_to_use,
    })
}

pub(crate) fn stats(call: &Call, usage: &[proto::VolumeUsage]) -> Result<VolumeStats, CallError> {
    use proto::volume_usage::Unit;
    let mut stats = VolumeStats::default();
    for u in usage {
        let checked = Usage {
            total: number(call, "total", u.total)?,
            used: number(call, "used part", u.used)?,
            available: number(call, "available part", u.available)?,
        };
        match Unit::try_from(u.unit) {
            Ok(Unit::Bytes) => stats.bytes = Some(checked),
            Ok(Unit::Inodes) => stats.inodes = Some(checked),
            // Units of later versions.
            Ok(Unit::Unknown) | Err(_) => {}
        }
    }
    Ok(stats)
}

/// Capabilities of later versions are ignored, here and below.
pub(crate) fn plugin_capabilities(all: &[proto::PluginCapability]) -> PluginCapabilities {
    use proto::plugin_capability::{Type, service, volume_expansion};
    let mut out = PluginCapabilities::default();
    for capability in all.iter().filter_map(|c| c.r#type.as_ref()) {
        match capability {
            Type::Service(s) => match service::Type::try_from(s.r#type) {
                Ok(service::Type::ControllerService) => out.controller = true,
                Ok(service::Type::VolumeAccessibilityConstraints) => out.topologies = true,
                Ok(_) | Err(_) => {}
            },
            Type::VolumeExpansion(e) => match volume_expansion::Type::try_from(e.r#type) {
                Ok(volume_expansion::Type::Online) => out.online_expansion = true,
                Ok(volume_expansion::Type::Offline) => out.offline_expansion = true,
                Ok(volume_expansion::Type::Unknown) | Err(_) => {}
            },
        }
    }
    out
}

pub(crate) fn controller_capabilities(all: &[proto::ControllerServiceCapability]) -> ControllerCapabilities {
    use proto::controller_service_capability::{Type, rpc};
    let mut out = ControllerCapabilities::default();
    for capability in all {
        let Some(Type::Rpc(rpc)) = &capability.r#type else { continue };
        if rpc.r#type == CONTROLLER_CONDITION {
            out.condition = true;
        }
        let Ok(kind) = rpc::Type::try_from(rpc.r#type) else { continue };
        match kind {
            rpc::Type::CreateDeleteVolume => out.create_delete = true,
            rpc::Type::PublishUnpublishVolume => out.attach = true,
            rpc::Type::ListVolumes => out.list = true,
            rpc::Type::GetCapacity => out.capacity = true,
            rpc::Type::CreateDeleteSnapshot => out.snapshots = true,
            rpc::Type::ListSnapshots => out.list_snapshots = true,
            rpc::Type::CloneVolume => out.clone = true,
            rpc::Type::PublishReadonly => out.read_only_attach = true,
            rpc::Type::ExpandVolume => out.expand = true,
            rpc::Type::ListVolumesPublishedNodes => out.list_attached_nodes = true,
            rpc::Type::GetVolume => out.get = true,
            rpc::Type::SingleNodeMultiWriter => out.single_node_multi_writer = true,
            rpc::Type::Unknown
            | rpc::Type::ModifyVolume
            | rpc::Type::GetSnapshot
            | rpc::Type::GetVolumeHealth
            | rpc::Type::ListVolumeHealth => {}
        }
    }
    out
}

pub(crate) fn node_capabilities(all: &[proto::NodeServiceCapability]) -> NodeCapabilities {
    use proto::node_service_capability::{Type, rpc};
    let mut out = NodeCapabilities::default();
    for capability in all {
        let Some(Type::Rpc(rpc)) = &capability.r#type else { continue };
        if rpc.r#type == NODE_CONDITION {
            out.condition = true;
        }
        let Ok(kind) = rpc::Type::try_from(rpc.r#type) else { continue };
        match kind {
            rpc::Type::StageUnstageVolume => out.stage = true,
            rpc::Type::GetVolumeStats => out.stats = true,
            rpc::Type::ExpandVolume => out.expand = true,
            rpc::Type::SingleNodeMultiWriter => out.single_node_multi_writer = true,
            rpc::Type::Unknown
            | rpc::Type::VolumeMountGroup
            | rpc::Type::GetVolumeHealth
            | rpc::Type::GetStorageHealth => {}
        }
    }
    out
}
