//! The calls of the controller service: volumes and snapshots of the storage provider.

use std::future::Future;

use crate::convert;
use crate::error::CallError;
use crate::plugin::{Call, Plugin};
use crate::proto;
use crate::redact::Redactor;
use crate::types::{
    AttachVolume, Context, ControllerCapabilities, CreateSnapshot, CreateVolume, ExpandVolume, Expanded,
    ExternalNodeId, ListSnapshots, ListedVolume, Page, PageRequest, Secrets, Snapshot, SnapshotId, ValidateVolume,
    Validation, Volume, VolumeId,
};

impl Plugin {
    /// What the controller can do.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn controller_capabilities(&self) -> Result<ControllerCapabilities, CallError> {
        let call = self.question("ControllerGetCapabilities");
        let request = call.request(proto::ControllerGetCapabilitiesRequest {});
        let answer = self.answer(&call, self.controller().controller_get_capabilities(request)).await?;
        Ok(convert::controller_capabilities(&answer.capabilities))
    }

    /// Creates a volume, or gives the one of the same name.
    ///
    /// # Errors
    /// Those of the call; `AlreadyExists`: the volume of the name is another one.
    pub async fn create_volume(&self, volume: CreateVolume) -> Result<Volume, CallError> {
        let redactor = volume.capabilities.iter().fold(Redactor::new(&volume.secrets), Redactor::with_options);
        let call = self.operation("CreateVolume", redactor);
        let request = call.request(proto::CreateVolumeRequest {
            name: volume.name,
            capacity_range: convert::capacity_range(volume.capacity),
            volume_capabilities: convert::capabilities(volume.capabilities),
            parameters: volume.parameters,
            secrets: convert::secrets(volume.secrets),
            volume_content_source: volume.source.map(convert::content_source),
            accessibility_requirements: volume.topologies.and_then(convert::topology_requirement),
            ..Default::default()
        });
        let answer = self.answer(&call, self.controller().create_volume(request)).await?;
        convert::volume(&call, answer.volume)
    }

    /// Deletes a volume; one that does not exist counts as deleted.
    ///
    /// # Errors
    /// Those of the call; `InUse`: it is attached, or has snapshots.
    pub async fn delete_volume(&self, volume: &VolumeId, secrets: Secrets) -> Result<(), CallError> {
        let call = self.operation("DeleteVolume", Redactor::new(&secrets));
        let request = call.request(proto::DeleteVolumeRequest {
            volume_id: volume.as_str().into(),
            secrets: convert::secrets(secrets),
        });
        self.answer(&call, self.controller().delete_volume(request)).await?;
        Ok(())
    }

    /// Attaches a volume to a node (`ControllerPublishVolume`). The result is for staging and mounting.
    ///
    /// # Errors
    /// Those of the call; `InUse`: it is attached to another node; `ResourceExhausted`: the node can't hold more.
    pub async fn attach_volume(&self, volume: AttachVolume) -> Result<Context, CallError> {
        let redactor = Redactor::new(&volume.secrets).with_options(&volume.capability);
        let call = self.operation("ControllerPublishVolume", redactor);
        let request = call.request(proto::ControllerPublishVolumeRequest {
            volume_id: volume.volume.into_text(),
            node_id: volume.node.into_text(),
            volume_capability: Some(convert::capability(volume.capability)),
            readonly: volume.read_only,
            secrets: convert::secrets(volume.secrets),
            volume_context: volume.context,
        });
        let answer = self.answer(&call, self.controller().controller_publish_volume(request)).await?;
        convert::context(&call, "context for the node", answer.publish_context)
    }

    /// Detaches a volume from a node (`ControllerUnpublishVolume`).
    ///
    /// # Errors
    /// Those of the call.
    pub async fn detach_volume(
        &self,
        volume: &VolumeId,
        node: &ExternalNodeId,
        secrets: Secrets,
    ) -> Result<(), CallError> {
        let call = self.operation("ControllerUnpublishVolume", Redactor::new(&secrets));
        let request = call.request(proto::ControllerUnpublishVolumeRequest {
            volume_id: volume.as_str().into(),
            node_id: node.as_str().into(),
            secrets: convert::secrets(secrets),
        });
        self.answer(&call, self.controller().controller_unpublish_volume(request)).await?;
        Ok(())
    }

    /// Whether a volume can be used as described.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn validate_volume(&self, volume: ValidateVolume) -> Result<Validation, CallError> {
        let redactor = volume.capabilities.iter().fold(Redactor::new(&volume.secrets), Redactor::with_options);
        let call = self.operation("ValidateVolumeCapabilities", redactor);
        let asked = convert::capabilities(volume.capabilities);
        let request = call.request(proto::ValidateVolumeCapabilitiesRequest {
            volume_id: volume.volume.into_text(),
            volume_context: volume.context,
            volume_capabilities: asked.clone(),
            parameters: volume.parameters,
            secrets: convert::secrets(volume.secrets),
            ..Default::default()
        });
        let answer = self.answer(&call, self.controller().validate_volume_capabilities(request)).await?;
        let Some(confirmed) = answer.confirmed else {
            return Ok(Validation::Refused(call.text(&answer.message)));
        };
        // A plugin may confirm a part, and leave out the file system and the mount options.
        let holds = |c: &proto::VolumeCapability| {
            confirmed
                .volume_capabilities
                .iter()
                .any(|have| have.access_mode == c.access_mode && block(have) == block(c))
        };
        Ok(match asked.iter().all(holds) {
            true => Validation::Confirmed,
            false => Validation::Refused(call.text(&answer.message)),
        })
    }

    /// One page of the volumes of the storage provider.
    ///
    /// # Errors
    /// Those of the call; `InProgress`: the token of the page is not valid any more.
    pub async fn list_volumes(&self, page: PageRequest) -> Result<Page<ListedVolume>, CallError> {
        let call = self.operation("ListVolumes", Redactor::default());
        let (max_entries, starting_token) = convert::page(page);
        let request = call.request(proto::ListVolumesRequest { max_entries, starting_token });
        let answer = self.answer(&call, self.controller().list_volumes(request)).await?;
        convert::entries(&call, max_entries, &answer.entries)?;
        let entries = answer.entries.into_iter().map(|e| convert::listed_volume(&call, e));
        Ok(Page { entries: entries.collect::<Result<_, _>>()?, next: convert::next(&call, answer.next_token)? })
    }

    /// All volumes of the storage provider.
    ///
    /// # Errors
    /// Those of the calls; `ProtocolViolation` too if the list is longer than [`crate::Limits::entries`] or does not
    /// end.
    pub async fn list_all_volumes(&self) -> Result<Vec<ListedVolume>, CallError> {
        let call = self.operation("ListVolumes", Redactor::default());
        self.all(&call, |start| self.list_volumes(PageRequest { max_entries: 0, start })).await
    }

    /// Takes a snapshot of a volume, or gives the one of the same name. It may not be ready yet.
    ///
    /// # Errors
    /// Those of the call; `AlreadyExists`: the snapshot of the name is one of another volume.
    pub async fn create_snapshot(&self, snapshot: CreateSnapshot) -> Result<Snapshot, CallError> {
        let call = self.operation("CreateSnapshot", Redactor::new(&snapshot.secrets));
        let request = call.request(proto::CreateSnapshotRequest {
            source_volume_id: snapshot.source.into_text(),
            name: snapshot.name,
            secrets: convert::secrets(snapshot.secrets),
            parameters: snapshot.parameters,
            ..Default::default()
        });
        let answer = self.answer(&call, self.controller().create_snapshot(request)).await?;
        convert::snapshot(&call, answer.snapshot)
    }

    /// Deletes a snapshot; one that does not exist counts as deleted.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn delete_snapshot(&self, snapshot: &SnapshotId, secrets: Secrets) -> Result<(), CallError> {
        let call = self.operation("DeleteSnapshot", Redactor::new(&secrets));
        let request = call.request(proto::DeleteSnapshotRequest {
            snapshot_id: snapshot.as_str().into(),
            secrets: convert::secrets(secrets),
        });
        self.answer(&call, self.controller().delete_snapshot(request)).await?;
        Ok(())
    }

    /// One page of the snapshots of the storage provider.
    ///
    /// # Errors
    /// Those of the call; `InProgress`: the token of the page is not valid any more.
    pub async fn list_snapshots(&self, list: ListSnapshots) -> Result<Page<Snapshot>, CallError> {
        let call = self.operation("ListSnapshots", Redactor::new(&list.secrets));
        let (max_entries, starting_token) = convert::page(list.page);
        let request = call.request(proto::ListSnapshotsRequest {
            max_entries,
            starting_token,
            source_volume_id: list.source.map(VolumeId::into_text).unwrap_or_default(),
            snapshot_id: list.snapshot.map(SnapshotId::into_text).unwrap_or_default(),
            secrets: convert::secrets(list.secrets),
        });
        let answer = self.answer(&call, self.controller().list_snapshots(request)).await?;
        convert::entries(&call, max_entries, &answer.entries)?;
        let entries = answer.entries.into_iter().map(|e| convert::snapshot(&call, e.snapshot));
        Ok(Page { entries: entries.collect::<Result<_, _>>()?, next: convert::next(&call, answer.next_token)? })
    }

    /// All snapshots of a selection; `list.page` is ignored.
    ///
    /// # Errors
    /// Those of the calls; `ProtocolViolation` too if the list is longer than [`crate::Limits::entries`] or does not
    /// end.
    pub async fn list_all_snapshots(&self, list: ListSnapshots) -> Result<Vec<Snapshot>, CallError> {
        let call = self.operation("ListSnapshots", Redactor::default());
        let of = |start| ListSnapshots { page: PageRequest { max_entries: 0, start }, ..list.clone() };
        self.all(&call, |start| self.list_snapshots(of(start))).await
    }

    /// Makes a volume larger.
    ///
    /// # Errors
    /// Those of the call; `OutOfRange`: not to this capacity; `InUse`: not while it is used.
    pub async fn expand_volume(&self, volume: ExpandVolume) -> Result<Expanded, CallError> {
        let redactor = volume.capability.iter().fold(Redactor::new(&volume.secrets), Redactor::with_options);
        let call = self.operation("ControllerExpandVolume", redactor);
        let request = call.request(proto::ControllerExpandVolumeRequest {
            volume_id: volume.volume.into_text(),
            capacity_range: convert::capacity_range(volume.capacity),
            secrets: convert::secrets(volume.secrets),
            volume_capability: volume.capability.map(convert::capability),
        });
        let answer = self.answer(&call, self.controller().controller_expand_volume(request)).await?;
        let capacity = convert::number(&call, "capacity", answer.capacity_bytes)?;
        Ok(Expanded { capacity, node_too: answer.node_expansion_required })
    }

    /// The entries of all pages of a list.
    async fn all<T, F>(&self, call: &Call, page: impl Fn(Option<String>) -> F) -> Result<Vec<T>, CallError>
    where
        F: Future<Output = Result<Page<T>, CallError>>,
    {
        let most = self.limits().entries;
        let mut all = Vec::new();
        let mut start = None;
        loop {
            let fetched = page(start.clone()).await?;
            if fetched.next.is_some() && fetched.entries.is_empty() {
                return Err(call.violation("a page before the last one is empty"));
            }
            if fetched.next.is_some() && fetched.next == start {
                return Err(call.violation("a page refers to itself as the next one"));
            }
            if all.len() + fetched.entries.len() > most {
                return Err(call.violation(&format!("the list has more than {most} entries")));
            }
            all.extend(fetched.entries);
            match fetched.next {
                Some(next) => start = Some(next),
                None => return Ok(all),
            }
        }
    }
}

/// Whether a capability is that of a block device.
fn block(capability: &proto::VolumeCapability) -> bool {
    matches!(capability.access_type, Some(proto::volume_capability::AccessType::Block(_)))
}
