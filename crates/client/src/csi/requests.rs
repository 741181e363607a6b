//! Arguments and answers of plugin calls, from and to the objects of servers.

use std::collections::BTreeMap;

use encamp_csi::{
    AttachVolume, CallError, Capability, CapacityRange, CreateSnapshot, CreateVolume, ExpandOnNode, ExpandVolume,
    ExternalNodeId, ListSnapshots, ListedVolume, PageRequest, Secrets, Snapshot, SnapshotId, UnknownMode,
    ValidateVolume, Volume, VolumeId, VolumeSource,
};
use encamp_model::{
    CsiClaimMode, CsiError, CsiErrorKind, CsiExternalVolume, CsiPage, CsiReply, CsiSnapshot, CsiVolume,
    CsiVolumeCapability, CsiVolumeClaim,
};

use crate::policy::csi;

/// The error of a call as servers get it. Its text has no secrets: calls remove them.
pub(crate) fn failed(error: &CallError) -> CsiError {
    CsiError { kind: csi::error_kind(error.kind), text: error.to_string() }
}

/// The call can't be made with these arguments.
pub(crate) fn refused(text: impl ToString) -> CsiError {
    CsiError { kind: CsiErrorKind::Refused, text: text.to_string() }
}

fn unknown_mode(error: UnknownMode) -> CsiError {
    refused(error)
}

/// A number of bytes; one below 0 is no bound.
fn bytes(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A number of bytes of a plugin; one that is too large is the largest.
fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn capacity(volume: &CsiVolume) -> CapacityRange {
    CapacityRange { min: bytes(volume.requested_capacity_min), max: bytes(volume.requested_capacity_max) }
}

/// The requested capabilities of a volume.
fn requested(volume: &CsiVolume) -> Result<Vec<Capability>, CsiError> {
    let of = |modes: &CsiVolumeCapability| Capability::new(modes, volume.mount_options.as_ref());
    volume.requested_capabilities.iter().map(of).collect::<Result<_, _>>().map_err(unknown_mode)
}

/// How a claim uses a volume. A claim without modes uses it like the others.
pub(crate) fn claimed(volume: &CsiVolume, claim: &CsiVolumeClaim) -> Result<Capability, CsiError> {
    let access = if claim.access_mode.is_unset() { &volume.access_mode } else { &claim.access_mode };
    let attachment = if claim.attachment_mode.is_empty() { &volume.attachment_mode } else { &claim.attachment_mode };
    let modes = CsiVolumeCapability { access_mode: access.clone(), attachment_mode: attachment.clone() };
    Capability::new(&modes, volume.mount_options.as_ref()).map_err(unknown_mode)
}

pub(crate) fn validate(volume: CsiVolume) -> Result<ValidateVolume, CsiError> {
    Ok(ValidateVolume {
        capabilities: requested(&volume)?,
        volume: VolumeId::new(volume.external_id),
        parameters: volume.parameters,
        secrets: volume.secrets,
        context: volume.context,
    })
}

pub(crate) fn create(volume: CsiVolume) -> Result<CreateVolume, CsiError> {
    let capabilities = requested(&volume)?;
    let capacity = capacity(&volume);
    let source = match (volume.snapshot_id.is_empty(), volume.clone_id.is_empty()) {
        (true, true) => None,
        (false, true) => Some(VolumeSource::Snapshot(SnapshotId::new(volume.snapshot_id))),
        (true, false) => Some(VolumeSource::Volume(VolumeId::new(volume.clone_id))),
        (false, false) => return Err(refused("a volume is made from a snapshot or from a volume, not from both")),
    };
    Ok(CreateVolume {
        name: if volume.name.is_empty() { volume.id } else { volume.name },
        capacity,
        capabilities,
        parameters: volume.parameters,
        secrets: volume.secrets,
        source,
        topologies: volume.requested_topologies,
    })
}

pub(crate) fn created(volume: Volume) -> CsiReply {
    CsiReply::Created {
        external_id: volume.id.to_string(),
        capacity: volume.capacity,
        context: volume.context,
        topologies: volume.topologies,
    }
}

/// A volume that nobody uses has no modes.
pub(crate) fn expand(volume: CsiVolume) -> Result<ExpandVolume, CsiError> {
    let used = !volume.access_mode.is_unset() && !volume.attachment_mode.is_empty();
    let capability = if used { Some(claimed(&volume, &CsiVolumeClaim::default())?) } else { None };
    let capacity = capacity(&volume);
    Ok(ExpandVolume { volume: VolumeId::new(volume.external_id), capacity, capability, secrets: volume.secrets })
}

/// `can_read_only`: the controller attaches volumes for reading only.
pub(crate) fn attach(volume: CsiVolume, claim: CsiVolumeClaim, can_read_only: bool) -> Result<AttachVolume, CsiError> {
    Ok(AttachVolume {
        capability: claimed(&volume, &claim)?,
        read_only: claim.purpose() == Some(CsiClaimMode::Read) && can_read_only,
        volume: VolumeId::new(volume.external_id),
        node: ExternalNodeId::new(claim.external_node_id),
        secrets: volume.secrets,
        context: volume.context,
    })
}

/// `target`: where the volume is mounted.
pub(crate) fn expand_on_node(
    volume: CsiVolume,
    claim: &CsiVolumeClaim,
    target: String,
    staging: Option<String>,
) -> Result<ExpandOnNode, CsiError> {
    Ok(ExpandOnNode {
        capability: Some(claimed(&volume, claim)?),
        capacity: capacity(&volume),
        volume: VolumeId::new(volume.external_id),
        path: target,
        staging_path: staging,
        secrets: volume.secrets,
    })
}

pub(crate) fn page(page: CsiPage) -> PageRequest {
    PageRequest { max_entries: page.max_entries, start: (!page.start.is_empty()).then_some(page.start) }
}

pub(crate) fn listed(listed: ListedVolume) -> CsiExternalVolume {
    let (snapshot_id, clone_id) = match listed.volume.source {
        Some(VolumeSource::Snapshot(id)) => (id.to_string(), String::new()),
        Some(VolumeSource::Volume(id)) => (String::new(), id.to_string()),
        None => (String::new(), String::new()),
    };
    CsiExternalVolume {
        external_id: listed.volume.id.to_string(),
        capacity_bytes: signed(listed.volume.capacity),
        volume_context: listed.volume.context,
        clone_id,
        snapshot_id,
        published_external_node_ids: listed.nodes.iter().map(ToString::to_string).collect(),
        // Plugins do not tell any more (protocol version 1.13).
        is_abnormal: false,
        status: String::new(),
    }
}

pub(crate) fn create_snapshot(
    external_id: String,
    name: String,
    parameters: BTreeMap<String, String>,
    secrets: Secrets,
) -> CreateSnapshot {
    CreateSnapshot { source: VolumeId::new(external_id), name, parameters, secrets }
}

/// A snapshot of a plugin. Servers know the IDs of plugin and volume.
pub(crate) fn snapshot(snapshot: Snapshot) -> CsiSnapshot {
    CsiSnapshot {
        id: snapshot.id.to_string(),
        external_source_volume_id: snapshot.source.to_string(),
        size_bytes: signed(snapshot.size),
        create_time: snapshot.created,
        is_ready: snapshot.ready,
        ..CsiSnapshot::default()
    }
}

pub(crate) fn list_snapshots(page: CsiPage, secrets: Secrets) -> ListSnapshots {
    ListSnapshots { page: self::page(page), source: None, snapshot: None, secrets }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_csi::{AccessMode, Attachment, ErrorKind};
    use encamp_model::VolumeAccessMode;

    fn volume() -> CsiVolume {
        let modes = CsiVolumeCapability {
            access_mode: VolumeAccessMode::SingleNodeWriter,
            attachment_mode: "file-system".into(),
        };
        CsiVolume {
            id: "v".into(),
            external_id: "ext".into(),
            requested_capacity_min: 10,
            requested_capacity_max: -1,
            requested_capabilities: vec![modes],
            ..CsiVolume::default()
        }
    }

    #[test]
    fn volumes_are_created_by_name() {
        let made = create(volume()).unwrap();
        assert_eq!((made.name.as_str(), made.capacity), ("v", CapacityRange { min: 10, max: 0 }));
        assert_eq!(made.capabilities[0].access, AccessMode::SingleNodeWriter);
        assert_eq!(made.source, None);
        let made = create(CsiVolume { name: "n".into(), snapshot_id: "s".into(), ..volume() }).unwrap();
        assert_eq!((made.name.as_str(), made.source), ("n", Some(VolumeSource::Snapshot(SnapshotId::new("s")))));
        let both = create(CsiVolume { clone_id: "c".into(), snapshot_id: "s".into(), ..volume() });
        assert_eq!(both.unwrap_err().kind, CsiErrorKind::Refused);
        let mut odd = volume();
        odd.requested_capabilities[0].access_mode = "odd".into();
        assert_eq!(create(odd).unwrap_err().kind, CsiErrorKind::Refused);
    }

    #[test]
    fn claims_without_modes_have_those_of_the_volume() {
        let volume = CsiVolume {
            access_mode: VolumeAccessMode::SingleNodeReaderOnly,
            attachment_mode: "block-device".into(),
            ..volume()
        };
        let claim = CsiVolumeClaim { external_node_id: "n".into(), ..CsiVolumeClaim::default() };
        let of = claimed(&volume, &claim).unwrap();
        assert_eq!((of.access, of.attachment), (AccessMode::SingleNodeReaderOnly, Attachment::BlockDevice));
        assert!(attach(volume.clone(), claim.clone(), true).unwrap().read_only);
        assert!(!attach(volume.clone(), claim.clone(), false).unwrap().read_only);
        assert!(!attach(volume.clone(), CsiVolumeClaim { mode: 1, ..claim }, true).unwrap().read_only);
        assert_eq!(expand(self::volume()).unwrap().capability, None);
        assert!(expand(volume).unwrap().capability.is_some());
    }

    #[test]
    fn errors_keep_their_text() {
        let error = CallError { call: "CreateVolume", kind: ErrorKind::OutOfRange, message: "too large".into() };
        let text = "CreateVolume: out of range: too large".to_string();
        assert_eq!(failed(&error), CsiError { kind: CsiErrorKind::Refused, text });
    }
}
