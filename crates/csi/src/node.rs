//! The calls of the node service: mounts of the plugin's node.

use crate::convert::{self, Text};
use crate::error::CallError;
use crate::plugin::Plugin;
use crate::proto;
use crate::redact::Redactor;
use crate::types::{
    ExpandOnNode, ExternalNodeId, MountVolume, NodeCapabilities, NodeDescription, StageVolume, VolumeId, VolumeStats,
};

impl Plugin {
    /// What the node plugin can do.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn node_capabilities(&self) -> Result<NodeCapabilities, CallError> {
        let call = self.question("NodeGetCapabilities");
        let request = call.request(proto::NodeGetCapabilitiesRequest {});
        let answer = self.answer(&call, self.node().node_get_capabilities(request)).await?;
        Ok(convert::node_capabilities(&answer.capabilities))
    }

    /// The storage provider's ID of the node, where it is, and how many volumes it can hold.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn node_info(&self) -> Result<NodeDescription, CallError> {
        let call = self.question("NodeGetInfo");
        let request = call.request(proto::NodeGetInfoRequest {});
        let answer = self.answer(&call, self.node().node_get_info(request)).await?;
        let max_volumes = convert::number(&call, "maximum number of volumes", answer.max_volumes_per_node)?;
        Ok(NodeDescription {
            id: ExternalNodeId::new(convert::text(&call, Text::Required("ID of the node"), answer.node_id)?),
            max_volumes: (max_volumes > 0).then_some(max_volumes),
            topology: answer.accessible_topology.map(|t| convert::topology(&call, t)).transpose()?,
        })
    }

    /// Prepares a volume on the node, once for all tasks (`NodeStageVolume`).
    ///
    /// # Errors
    /// Those of the call.
    pub async fn stage_volume(&self, volume: StageVolume) -> Result<(), CallError> {
        let redactor = Redactor::new(&volume.secrets).with_options(&volume.capability);
        let call = self.operation("NodeStageVolume", redactor);
        let request = call.request(proto::NodeStageVolumeRequest {
            volume_id: volume.volume.into_text(),
            publish_context: volume.attach_context,
            staging_target_path: volume.staging_path,
            volume_capability: Some(convert::capability(volume.capability)),
            secrets: convert::secrets(volume.secrets),
            volume_context: volume.context,
        });
        self.answer(&call, self.node().node_stage_volume(request)).await?;
        Ok(())
    }

    /// Undoes [`Plugin::stage_volume`].
    ///
    /// # Errors
    /// Those of the call.
    pub async fn unstage_volume(&self, volume: &VolumeId, staging_path: &str) -> Result<(), CallError> {
        let call = self.operation("NodeUnstageVolume", Redactor::default());
        let request = call.request(proto::NodeUnstageVolumeRequest {
            volume_id: volume.as_str().into(),
            staging_target_path: staging_path.into(),
        });
        self.answer(&call, self.node().node_unstage_volume(request)).await?;
        Ok(())
    }

    /// Mounts a volume for a task (`NodePublishVolume`).
    ///
    /// # Errors
    /// Those of the call; `AlreadyExists`: it is mounted there in another way.
    pub async fn mount_volume(&self, volume: MountVolume) -> Result<(), CallError> {
        let redactor = Redactor::new(&volume.secrets).with_options(&volume.capability);
        let call = self.operation("NodePublishVolume", redactor);
        let request = call.request(proto::NodePublishVolumeRequest {
            volume_id: volume.volume.into_text(),
            publish_context: volume.attach_context,
            staging_target_path: volume.staging_path.unwrap_or_default(),
            target_path: volume.target_path,
            volume_capability: Some(convert::capability(volume.capability)),
            readonly: volume.read_only,
            secrets: convert::secrets(volume.secrets),
            volume_context: volume.context,
        });
        self.answer(&call, self.node().node_publish_volume(request)).await?;
        Ok(())
    }

    /// Undoes [`Plugin::mount_volume`] and removes the target.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn unmount_volume(&self, volume: &VolumeId, target_path: &str) -> Result<(), CallError> {
        let call = self.operation("NodeUnpublishVolume", Redactor::default());
        let request = call.request(proto::NodeUnpublishVolumeRequest {
            volume_id: volume.as_str().into(),
            target_path: target_path.into(),
        });
        self.answer(&call, self.node().node_unpublish_volume(request)).await?;
        Ok(())
    }

    /// Makes a volume larger on the node, after [`Plugin::expand_volume`]; gives its capacity in bytes, 0 if the plugin
    /// does not say.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn expand_on_node(&self, volume: ExpandOnNode) -> Result<u64, CallError> {
        let redactor = volume.capability.iter().fold(Redactor::new(&volume.secrets), Redactor::with_options);
        let call = self.operation("NodeExpandVolume", redactor);
        let request = call.request(proto::NodeExpandVolumeRequest {
            volume_id: volume.volume.into_text(),
            volume_path: volume.path,
            capacity_range: convert::capacity_range(volume.capacity),
            staging_target_path: volume.staging_path.unwrap_or_default(),
            volume_capability: volume.capability.map(convert::capability),
            secrets: convert::secrets(volume.secrets),
        });
        let answer = self.answer(&call, self.node().node_expand_volume(request)).await?;
        convert::number(&call, "capacity", answer.capacity_bytes)
    }

    /// The usage of a volume that is mounted or staged at a path.
    ///
    /// # Errors
    /// Those of the call; `NotFound`: it is not there.
    pub async fn volume_stats(
        &self,
        volume: &VolumeId,
        path: &str,
        staging_path: Option<&str>,
    ) -> Result<VolumeStats, CallError> {
        let call = self.question("NodeGetVolumeStats");
        let request = call.request(proto::NodeGetVolumeStatsRequest {
            volume_id: volume.as_str().into(),
            volume_path: path.into(),
            staging_target_path: staging_path.unwrap_or_default().into(),
        });
        let answer = self.answer(&call, self.node().node_get_volume_stats(request)).await?;
        convert::stats(&call, &answer.usage)
    }
}
