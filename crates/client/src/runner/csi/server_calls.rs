//! Carries out what servers ask the plugins of this node to do (`docs/spec/client.md §24.2`).

use std::sync::Arc;
use std::time::Duration;

use encamp_csi::{CallError, ExternalNodeId, Plugin, SnapshotId, Validation, VolumeId};
use encamp_model::{
    CsiCall, CsiError, CsiErrorKind, CsiOperation, CsiPage, CsiReply, CsiService, CsiVolume, CsiVolumeClaim,
};

use super::super::Shared;
use crate::csi::operations::{Subject, SubjectKind, repeat, repeat_removal};
use crate::csi::records::MountKey;
use crate::csi::registry::Ready;
use crate::csi::requests;

/// How long one operation may take, with its repetitions and the wait for others of the volume.
const DEADLINE: Duration = Duration::from_secs(300);

fn try_later(text: &str) -> CsiError {
    CsiError { kind: CsiErrorKind::Retry, text: text.into() }
}

impl Shared {
    /// Carries out one operation of a storage plugin.
    ///
    /// # Errors
    /// What the caller can do about it. `Retry` may have been carried out.
    pub(crate) async fn ask_csi_plugin(self: &Arc<Self>, call: CsiCall) -> Result<CsiReply, CsiError> {
        let CsiCall { plugin_id, operation } = call;
        if let CsiOperation::Unmount { volume, claim } = &operation
            && !self.csi.mounts.get(&key_of(volume, claim)).is_some_and(|r| r.phase.may_be_mounted())
        {
            return Ok(CsiReply::Done);
        }
        let (service, kind, id) = about(&operation);
        let Some(ready) = self.csi.registry.ready(&plugin_id, service) else {
            let text = format!("plugin {plugin_id:?} does not run on this node, or is not healthy");
            return Err(CsiError { kind: CsiErrorKind::NoPlugin, text });
        };
        let subject = Subject { plugin_id, kind, id };
        let Some(begun) = self.csi.operations.begin(subject) else {
            return Err(try_later("too many operations are in progress on this node"));
        };
        let work = async {
            let _one_at_a_time = if kind == SubjectKind::List { None } else { Some(begun.lock().await) };
            carry_out(self, &ready, operation).await
        };
        let late = |_| Err(try_later("the operation did not end in time"));
        tokio::time::timeout(DEADLINE, work).await.unwrap_or_else(late)
    }
}

/// How the mount of a claim is recorded.
pub(super) fn key_of(volume: &CsiVolume, claim: &CsiVolumeClaim) -> MountKey {
    MountKey {
        alloc_id: claim.allocation_id.clone(),
        namespace: volume.namespace.clone(),
        volume_id: volume.id.clone(),
    }
}

/// Which service an operation needs, and what it is about.
fn about(operation: &CsiOperation) -> (CsiService, SubjectKind, String) {
    let (service, kind, id) = match operation {
        CsiOperation::Create(volume) => {
            let name = if volume.name.is_empty() { &volume.id } else { &volume.name };
            (CsiService::Controller, SubjectKind::NewVolume, name)
        }
        CsiOperation::Validate(volume) | CsiOperation::Expand(volume) | CsiOperation::Attach { volume, .. } => {
            (CsiService::Controller, SubjectKind::Volume, &volume.external_id)
        }
        CsiOperation::Delete { external_id, .. }
        | CsiOperation::Detach { external_id, .. }
        | CsiOperation::CreateSnapshot { external_id, .. } => {
            (CsiService::Controller, SubjectKind::Volume, external_id)
        }
        CsiOperation::DeleteSnapshot { id, .. } => (CsiService::Controller, SubjectKind::Snapshot, id),
        CsiOperation::ListVolumes(page) | CsiOperation::ListSnapshots { page, .. } => {
            (CsiService::Controller, SubjectKind::List, &page.start)
        }
        CsiOperation::Unmount { volume, .. } | CsiOperation::ExpandOnNode { volume, .. } => {
            (CsiService::Node, SubjectKind::Volume, &volume.external_id)
        }
    };
    (service, kind, id.clone())
}

async fn validate(plugin: &Plugin, volume: CsiVolume) -> Result<CsiReply, CsiError> {
    let asked = requests::validate(volume)?;
    let checked = repeat(|| plugin.validate_volume(asked.clone())).await;
    match checked.map_err(|error| requests::failed(&error))? {
        Validation::Confirmed => Ok(CsiReply::Done),
        Validation::Refused(why) => {
            let text = if why.is_empty() { "the volume can not be used as requested".into() } else { why };
            Err(requests::refused(text))
        }
    }
}

async fn list_volumes(plugin: &Plugin, page: CsiPage) -> Result<CsiReply, CsiError> {
    let asked = requests::page(page);
    let page = repeat(|| plugin.list_volumes(asked.clone())).await.map_err(|error| requests::failed(&error))?;
    let volumes = page.entries.into_iter().map(requests::listed).collect();
    Ok(CsiReply::Volumes { volumes, next: page.next.unwrap_or_default() })
}

/// Carries out an operation of a plugin that is ready.
async fn carry_out(shared: &Arc<Shared>, ready: &Ready, operation: CsiOperation) -> Result<CsiReply, CsiError> {
    let plugin = &ready.plugin;
    let controller = ready.found.controller.unwrap_or_default();
    let failed = |error: CallError| requests::failed(&error);
    match operation {
        CsiOperation::Validate(volume) => validate(plugin, *volume).await,
        CsiOperation::Create(volume) => {
            let asked = requests::create(*volume)?;
            repeat(|| plugin.create_volume(asked.clone())).await.map(requests::created).map_err(failed)
        }
        CsiOperation::Expand(volume) => {
            let asked = requests::expand(*volume)?;
            let expanded = repeat(|| plugin.expand_volume(asked.clone())).await.map_err(failed)?;
            Ok(CsiReply::Expanded { capacity: expanded.capacity, node_too: expanded.node_too })
        }
        CsiOperation::Delete { external_id, secrets } => {
            let id = VolumeId::new(external_id);
            repeat_removal(|| plugin.delete_volume(&id, secrets.clone())).await
        }
        // A controller that attaches nothing leaves it to the node's plugin.
        CsiOperation::Attach { .. } if !controller.attach => Ok(CsiReply::Attached { context: Default::default() }),
        CsiOperation::Attach { volume, claim } => {
            let asked = requests::attach(*volume, claim, controller.read_only_attach)?;
            let context = repeat(|| plugin.attach_volume(asked.clone())).await.map_err(failed)?;
            Ok(CsiReply::Attached { context })
        }
        CsiOperation::Detach { .. } if !controller.attach => Ok(CsiReply::Done),
        CsiOperation::Detach { external_id, external_node_id, secrets } => {
            let (id, node) = (VolumeId::new(external_id), ExternalNodeId::new(external_node_id));
            repeat_removal(|| plugin.detach_volume(&id, &node, secrets.clone())).await
        }
        CsiOperation::ListVolumes(page) => list_volumes(plugin, page).await,
        CsiOperation::CreateSnapshot { external_id, name, parameters, secrets } => {
            let asked = requests::create_snapshot(external_id, name, parameters, secrets);
            let taken = repeat(|| plugin.create_snapshot(asked.clone())).await.map_err(failed)?;
            Ok(CsiReply::Snapshot(requests::snapshot(taken)))
        }
        CsiOperation::DeleteSnapshot { id, secrets } => {
            let id = SnapshotId::new(id);
            repeat_removal(|| plugin.delete_snapshot(&id, secrets.clone())).await
        }
        CsiOperation::ListSnapshots { page, secrets } => {
            let asked = requests::list_snapshots(page, secrets);
            let page = repeat(|| plugin.list_snapshots(asked.clone())).await.map_err(failed)?;
            let snapshots = page.entries.into_iter().map(requests::snapshot).collect();
            Ok(CsiReply::Snapshots { snapshots, next: page.next.unwrap_or_default() })
        }
        CsiOperation::Unmount { volume, claim } => {
            shared.unmount_for_servers(&key_of(&volume, &claim)).await.map(|()| CsiReply::Done)
        }
        CsiOperation::ExpandOnNode { volume, claim } => {
            shared.expand_for_servers(plugin, *volume, &claim).await.map(|()| CsiReply::Done)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_subjects() {
        let secrets = std::collections::BTreeMap::new;
        let named = CsiVolume { name: "n".into(), external_id: "x".into(), ..CsiVolume::default() };
        let volume = || Box::new(named.clone());
        let claim = CsiVolumeClaim::default;
        let attach = CsiOperation::Attach { volume: volume(), claim: claim() };
        assert_eq!(about(&attach), (CsiService::Controller, SubjectKind::Volume, "x".to_string()));
        let create = CsiOperation::Create(volume());
        assert_eq!(about(&create), (CsiService::Controller, SubjectKind::NewVolume, "n".to_string()));
        let unmount = CsiOperation::Unmount { volume: volume(), claim: claim() };
        assert_eq!(about(&unmount), (CsiService::Node, SubjectKind::Volume, "x".to_string()));
        let delete = CsiOperation::DeleteSnapshot { id: "s".into(), secrets: secrets() };
        assert_eq!(about(&delete), (CsiService::Controller, SubjectKind::Snapshot, "s".to_string()));
    }
}
