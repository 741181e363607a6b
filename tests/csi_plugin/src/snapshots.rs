//! Snapshots: copies of the contents of volumes.

use encamp_csi::proto;
use tonic::Status;

use crate::controller::{page, required};
use crate::records::Snapshot;
use crate::storage::{Locked, new_id, now};

pub(crate) fn create(
    s: &mut Locked<'_>,
    r: &proto::CreateSnapshotRequest,
) -> Result<proto::CreateSnapshotResponse, Status> {
    required("name", &r.name)?;
    required("source volume", &r.source_volume_id)?;
    if let Some(snapshot) = s.snapshots()?.into_iter().find(|s| s.name == r.name) {
        return match snapshot.source == r.source_volume_id {
            true => Ok(proto::CreateSnapshotResponse { snapshot: Some(snapshot.message()) }),
            false => Err(Status::already_exists(format!("the snapshot is one of {}", snapshot.source))),
        };
    }
    let volume = s.known(&r.source_volume_id)?;
    let snapshot = Snapshot {
        id: new_id("snap"),
        name: r.name.clone(),
        size: volume.capacity,
        created: now(),
        block: volume.block(),
        source: volume.id,
    };
    s.create_snapshot(&snapshot)?;
    Ok(proto::CreateSnapshotResponse { snapshot: Some(snapshot.message()) })
}

pub(crate) fn delete(s: &mut Locked<'_>, id: &str) -> Result<proto::DeleteSnapshotResponse, Status> {
    required("snapshot ID", id)?;
    if let Some(snapshot) = s.snapshot(id)? {
        s.delete_snapshot(&snapshot)?;
    }
    Ok(proto::DeleteSnapshotResponse {})
}

pub(crate) fn list(s: &Locked<'_>, r: &proto::ListSnapshotsRequest) -> Result<proto::ListSnapshotsResponse, Status> {
    use proto::list_snapshots_response::Entry;
    let selected = |s: &Snapshot| {
        (r.snapshot_id.is_empty() || s.id == r.snapshot_id)
            && (r.source_volume_id.is_empty() || s.source == r.source_volume_id)
    };
    let all = s.snapshots()?.into_iter().filter(selected).collect();
    let (snapshots, next_token) = page(all, |s: &Snapshot| &s.id, r.max_entries, &r.starting_token)?;
    let entries = snapshots.iter().map(|s| Entry { snapshot: Some(s.message()) }).collect();
    Ok(proto::ListSnapshotsResponse { entries, next_token })
}
