//! The node service. Volumes are bind-mounted from the storage directory: to the staging path, and from there to the
//! target of each task. Records say what a node has mounted, and the table of mounts what is mounted indeed: a record
//! is written before a mount is made, and removed after it is gone, so that a call that was cut off can be repeated.

use std::fs;
use std::path::Path;

use encamp_csi::proto;
use encamp_csi::proto::node_server::Node;
use encamp_csi::proto::node_service_capability::{Rpc, Type, rpc};
use serde_json::json;
use tonic::{Request, Response, Status};

use crate::Service;
use crate::calls::Call;
use crate::controller::required;
use crate::mounts;
use crate::options::Options;
use crate::records::{Publication, Stage, Usage, Volume, bytes};
use crate::storage::{DATA, DEVICE, Locked};

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Node for Service {
    async fn node_get_info(&self, _: Request<proto::NodeGetInfoRequest>) -> Answer<proto::NodeGetInfoResponse> {
        let segments = self.options.topology();
        let answer = proto::NodeGetInfoResponse {
            node_id: self.options.node_id.clone(),
            max_volumes_per_node: self.options.max_volumes.into(),
            accessible_topology: (!segments.is_empty()).then_some(proto::Topology { segments }),
        };
        self.calls.run(Call::new("NodeGetInfo"), |_| Ok(answer)).await
    }

    async fn node_get_capabilities(
        &self,
        _: Request<proto::NodeGetCapabilitiesRequest>,
    ) -> Answer<proto::NodeGetCapabilitiesResponse> {
        let mut all = vec![rpc::Type::GetVolumeStats, rpc::Type::ExpandVolume, rpc::Type::SingleNodeMultiWriter];
        if !self.options.no_stage {
            all.push(rpc::Type::StageUnstageVolume);
        }
        let capability = |kind: rpc::Type| Some(Type::Rpc(Rpc { r#type: kind.into() }));
        let capabilities = all.into_iter().map(|k| proto::NodeServiceCapability { r#type: capability(k) }).collect();
        let answer = proto::NodeGetCapabilitiesResponse { capabilities };
        self.calls.run(Call::new("NodeGetCapabilities"), |_| Ok(answer)).await
    }

    async fn node_stage_volume(
        &self,
        r: Request<proto::NodeStageVolumeRequest>,
    ) -> Answer<proto::NodeStageVolumeResponse> {
        let r = r.into_inner();
        let detail = json!({ "path": r.staging_target_path });
        let call = Call::new("NodeStageVolume").about(&r.volume_id, detail).secrets(&r.secrets);
        self.calls.run(call, |s| stage(&self.options, s, &r)).await
    }

    async fn node_unstage_volume(
        &self,
        r: Request<proto::NodeUnstageVolumeRequest>,
    ) -> Answer<proto::NodeUnstageVolumeResponse> {
        let r = r.into_inner();
        let detail = json!({ "path": r.staging_target_path });
        let call = Call::new("NodeUnstageVolume").about(&r.volume_id, detail);
        self.calls.run(call, |s| unstage(&self.options, s, &r)).await
    }

    async fn node_publish_volume(
        &self,
        r: Request<proto::NodePublishVolumeRequest>,
    ) -> Answer<proto::NodePublishVolumeResponse> {
        let r = r.into_inner();
        let detail = json!({ "path": r.target_path, "read_only": r.readonly });
        let call = Call::new("NodePublishVolume").about(&r.volume_id, detail).secrets(&r.secrets);
        self.calls.run(call, |s| publish(&self.options, s, &r)).await
    }

    async fn node_unpublish_volume(
        &self,
        r: Request<proto::NodeUnpublishVolumeRequest>,
    ) -> Answer<proto::NodeUnpublishVolumeResponse> {
        let r = r.into_inner();
        let call = Call::new("NodeUnpublishVolume").about(&r.volume_id, json!({ "path": r.target_path }));
        self.calls.run(call, |s| unpublish(&self.options, s, &r)).await
    }

    async fn node_get_volume_stats(
        &self,
        r: Request<proto::NodeGetVolumeStatsRequest>,
    ) -> Answer<proto::NodeGetVolumeStatsResponse> {
        let r = r.into_inner();
        self.calls.run(Call::new("NodeGetVolumeStats"), |s| stats(&self.options, s, &r)).await
    }

    async fn node_expand_volume(
        &self,
        r: Request<proto::NodeExpandVolumeRequest>,
    ) -> Answer<proto::NodeExpandVolumeResponse> {
        let r = r.into_inner();
        let call = Call::new("NodeExpandVolume").about(&r.volume_id, json!({ "path": r.volume_path }));
        self.calls.run(call, |s| expand(&self.options, s, &r)).await
    }
}

/// Checks that a volume may be used on the node: it is attached, and the contexts are those that the plugin gave.
fn check_attached(
    options: &Options,
    volume: &Volume,
    usage: &Usage,
    contexts: [&std::collections::BTreeMap<String, String>; 2],
) -> Result<(), Status> {
    let [attach_context, context] = contexts;
    if usage.block != volume.block() {
        return Err(Status::failed_precondition("the volume can't be used so"));
    }
    if !context.is_empty() && *context != volume.context() {
        return Err(Status::invalid_argument("the context is not that of the volume"));
    }
    if options.no_attach {
        return Ok(());
    }
    if !volume.attached.contains_key(&options.node_id) {
        return Err(Status::failed_precondition("the volume is not attached to the node"));
    }
    match *attach_context == volume.attach_context(&options.node_id) {
        true => Ok(()),
        false => Err(Status::invalid_argument("the publish context is not that of the volume and the node")),
    }
}

fn absolute(what: &str, path: &str) -> Result<(), Status> {
    required(what, path)?;
    if path.starts_with('/') { Ok(()) } else { Err(Status::invalid_argument(format!("the {what} is not absolute"))) }
}

/// Where the contents of a volume are in the storage.
fn contents(s: &Locked<'_>, volume: &Volume) -> std::path::PathBuf {
    s.volume_path(&volume.id).join(if volume.block() { DEVICE } else { DATA })
}

/// Whether a volume is mounted at a path. The table of mounts shows paths of the file system that holds the storage.
fn mounted(volume: &Volume, path: &Path) -> Result<bool, Status> {
    let end = format!("/volumes/{}/{}", volume.id, if volume.block() { DEVICE } else { DATA });
    Ok(mounts::at(path)?.is_some_and(|m| m.root.ends_with(&end)))
}

fn stage(
    options: &Options,
    s: &mut Locked<'_>,
    r: &proto::NodeStageVolumeRequest,
) -> Result<proto::NodeStageVolumeResponse, Status> {
    required("volume ID", &r.volume_id)?;
    absolute("staging path", &r.staging_target_path)?;
    let usage = Usage::of(r.volume_capability.as_ref())?;
    let mut volume = s.known(&r.volume_id)?;
    check_attached(options, &volume, &usage, [&r.publish_context, &r.volume_context])?;
    let (node, path) = (options.node_id.clone(), r.staging_target_path.clone());
    let wanted = Stage { node, path, usage };
    match volume.staged.iter().find(|p| p.node == wanted.node && p.path == wanted.path) {
        Some(staged) if *staged != wanted => {
            return Err(Status::already_exists("the volume is staged there in another way"));
        }
        Some(_) => {}
        None => {
            volume.staged.push(wanted);
            s.save(&volume)?;
        }
    }
    // A device is not mounted before it is published.
    if !volume.block() {
        mounts::bind(&contents(s, &volume), Path::new(&r.staging_target_path), false)?;
    }
    Ok(proto::NodeStageVolumeResponse {})
}

fn unstage(
    options: &Options,
    s: &mut Locked<'_>,
    r: &proto::NodeUnstageVolumeRequest,
) -> Result<proto::NodeUnstageVolumeResponse, Status> {
    required("volume ID", &r.volume_id)?;
    absolute("staging path", &r.staging_target_path)?;
    let mut volume = s.known(&r.volume_id)?;
    if volume.published.iter().any(|p| p.node == options.node_id) {
        return Err(Status::failed_precondition("the volume is mounted for a task"));
    }
    let path = Path::new(&r.staging_target_path);
    if mounted(&volume, path)? {
        mounts::release(path)?;
    }
    volume.staged.retain(|p| p.node != options.node_id || p.path != r.staging_target_path);
    s.save(&volume)?;
    Ok(proto::NodeUnstageVolumeResponse {})
}

fn publish(
    options: &Options,
    s: &mut Locked<'_>,
    r: &proto::NodePublishVolumeRequest,
) -> Result<proto::NodePublishVolumeResponse, Status> {
    required("volume ID", &r.volume_id)?;
    absolute("target path", &r.target_path)?;
    let usage = Usage::of(r.volume_capability.as_ref())?;
    let mut volume = s.known(&r.volume_id)?;
    check_attached(options, &volume, &usage, [&r.publish_context, &r.volume_context])?;
    let staged = Path::new(&r.staging_target_path);
    if !options.no_stage {
        let known = |p: &Stage| p.node == options.node_id && p.path == r.staging_target_path;
        if !volume.staged.iter().any(known) || !volume.block() && !mounted(&volume, staged)? {
            return Err(Status::failed_precondition("the volume is not staged there"));
        }
    }
    let (node, target) = (options.node_id.clone(), r.target_path.clone());
    let wanted = Publication { node, target, usage, read_only: r.readonly };
    let here = volume.published.iter().find(|p| p.node == wanted.node && p.target == wanted.target);
    match here {
        Some(published) if *published != wanted => {
            return Err(Status::already_exists("the volume is mounted there in another way"));
        }
        Some(_) => {}
        None => {
            check_others(s, &volume, &wanted)?;
            volume.published.push(wanted);
            s.save(&volume)?;
        }
    }
    let source = contents(s, &volume);
    let source = if volume.block() || options.no_stage { source.as_path() } else { staged };
    mounts::bind(source, Path::new(&r.target_path), r.readonly)?;
    Ok(proto::NodePublishVolumeResponse {})
}

/// Refuses a mount that other mounts of the volume exclude. Two writers where one is allowed are recorded.
fn check_others(s: &mut Locked<'_>, volume: &Volume, wanted: &Publication) -> Result<(), Status> {
    for other in &volume.published {
        if other.node == wanted.node {
            if !wanted.usage.many_targets() || !other.usage.many_targets() {
                return Err(Status::failed_precondition(format!("the volume is mounted at {}", other.target)));
            }
            continue;
        }
        let many_writers = wanted.usage.many_writers() && other.usage.many_writers();
        if wanted.writes() && other.writes() && !many_writers {
            let nodes = [&other.node, &wanted.node];
            s.violation(&json!({ "kind": "two writers mounted", "volume": volume.id, "nodes": nodes }))?;
            return Err(Status::failed_precondition(format!("the node {} writes", other.node)));
        }
        if !wanted.usage.many_nodes() || !other.usage.many_nodes() {
            return Err(Status::failed_precondition(format!("the volume is mounted on the node {}", other.node)));
        }
    }
    Ok(())
}

fn unpublish(
    options: &Options,
    s: &mut Locked<'_>,
    r: &proto::NodeUnpublishVolumeRequest,
) -> Result<proto::NodeUnpublishVolumeResponse, Status> {
    required("volume ID", &r.volume_id)?;
    absolute("target path", &r.target_path)?;
    let mut volume = s.known(&r.volume_id)?;
    let target = Path::new(&r.target_path);
    let ours = |p: &Publication| p.node == options.node_id && p.target == r.target_path;
    let known = volume.published.iter().any(ours);
    if mounted(&volume, target)? {
        mounts::release(target)?;
        mounts::remove(target)?;
    } else if known {
        mounts::remove(target)?;
    }
    if known {
        volume.published.retain(|p| !ours(p));
        s.save(&volume)?;
    }
    Ok(proto::NodeUnpublishVolumeResponse {})
}

/// Fails unless the volume is staged or mounted at a path of the node.
fn check_there(options: &Options, volume: &Volume, path: &str) -> Result<(), Status> {
    let published = volume.published.iter().any(|p| p.node == options.node_id && p.target == path);
    let staged = volume.staged.iter().any(|p| p.node == options.node_id && p.path == path);
    match published || staged {
        true => Ok(()),
        false => Err(Status::not_found(format!("the volume is not at {path}"))),
    }
}

fn stats(
    options: &Options,
    s: &Locked<'_>,
    r: &proto::NodeGetVolumeStatsRequest,
) -> Result<proto::NodeGetVolumeStatsResponse, Status> {
    use proto::volume_usage::Unit;
    required("volume ID", &r.volume_id)?;
    required("volume path", &r.volume_path)?;
    let volume = s.known(&r.volume_id)?;
    check_there(options, &volume, &r.volume_path)?;
    let (used, files) = usage(&contents(s, &volume))?;
    let part = |total: u64, used: u64, unit: Unit| proto::VolumeUsage {
        available: bytes(total.saturating_sub(used)),
        total: bytes(total),
        used: bytes(used),
        unit: unit.into(),
    };
    let usage = vec![part(volume.capacity, used, Unit::Bytes), part(1 << 20, files, Unit::Inodes)];
    Ok(proto::NodeGetVolumeStatsResponse { usage })
}

/// Bytes of files, and number of entries.
fn usage(path: &Path) -> Result<(u64, u64), Status> {
    let kind = fs::symlink_metadata(path).map_err(|e| mounts::failed(path, &e))?;
    let (mut size, mut entries) = (if kind.is_file() { kind.len() } else { 0 }, 1);
    if kind.is_dir() {
        for entry in fs::read_dir(path).map_err(|e| mounts::failed(path, &e))? {
            let (below, count) = usage(&entry.map_err(|e| mounts::failed(path, &e))?.path())?;
            size += below;
            entries += count;
        }
    }
    Ok((size, entries))
}

fn expand(
    options: &Options,
    s: &Locked<'_>,
    r: &proto::NodeExpandVolumeRequest,
) -> Result<proto::NodeExpandVolumeResponse, Status> {
    required("volume ID", &r.volume_id)?;
    required("volume path", &r.volume_path)?;
    let volume = s.known(&r.volume_id)?;
    check_there(options, &volume, &r.volume_path)?;
    let asked = r.capacity_range.unwrap_or_default().required_bytes;
    if asked > bytes(volume.capacity) {
        return Err(Status::out_of_range("the controller has not expanded the volume"));
    }
    Ok(proto::NodeExpandVolumeResponse { capacity_bytes: bytes(volume.capacity) })
}
