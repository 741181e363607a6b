//! The controller service. Its rules are functions of the storage, below.

use std::collections::BTreeMap;

use encamp_csi::proto;
use encamp_csi::proto::controller_server::Controller;
use encamp_csi::proto::controller_service_capability::{Rpc, Type, rpc};
use encamp_csi::proto::volume_content_source;
use serde_json::json;
use tonic::{Request, Response, Status};

use crate::Service;
use crate::calls::Call;
use crate::options::Options;
use crate::records::{Attachment, Source, Usage, Volume, bytes};
use crate::snapshots;
use crate::storage::{Locked, new_id};

/// Bytes of a volume when none are asked for.
const DEFAULT_SIZE: u64 = 1 << 30;

type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl Controller for Service {
    async fn controller_get_capabilities(
        &self,
        _: Request<proto::ControllerGetCapabilitiesRequest>,
    ) -> Answer<proto::ControllerGetCapabilitiesResponse> {
        let mut all = vec![
            rpc::Type::CreateDeleteVolume,
            rpc::Type::ListVolumes,
            rpc::Type::GetCapacity,
            rpc::Type::CreateDeleteSnapshot,
            rpc::Type::ListSnapshots,
            rpc::Type::CloneVolume,
            rpc::Type::ExpandVolume,
            rpc::Type::SingleNodeMultiWriter,
        ];
        if !self.options.no_attach {
            let attaching =
                [rpc::Type::PublishUnpublishVolume, rpc::Type::PublishReadonly, rpc::Type::ListVolumesPublishedNodes];
            all.extend(attaching);
        }
        let capability = |kind: rpc::Type| Some(Type::Rpc(Rpc { r#type: kind.into() }));
        let capabilities = all.into_iter().map(|k| proto::ControllerServiceCapability { r#type: capability(k) });
        let answer = proto::ControllerGetCapabilitiesResponse { capabilities: capabilities.collect() };
        self.calls.run(Call::new("ControllerGetCapabilities"), |_| Ok(answer)).await
    }

    async fn create_volume(&self, r: Request<proto::CreateVolumeRequest>) -> Answer<proto::CreateVolumeResponse> {
        let r = r.into_inner();
        let call = Call::new("CreateVolume").about(&r.name, json!({})).secrets(&r.secrets);
        self.calls.run(call, |s| create(&self.options, s, &r)).await
    }

    async fn delete_volume(&self, r: Request<proto::DeleteVolumeRequest>) -> Answer<proto::DeleteVolumeResponse> {
        let r = r.into_inner();
        let call = Call::new("DeleteVolume").about(&r.volume_id, json!({})).secrets(&r.secrets);
        self.calls.run(call, |s| delete(s, &r.volume_id)).await
    }

    async fn controller_publish_volume(
        &self,
        r: Request<proto::ControllerPublishVolumeRequest>,
    ) -> Answer<proto::ControllerPublishVolumeResponse> {
        let r = r.into_inner();
        let detail = json!({ "to": r.node_id, "read_only": r.readonly });
        let call = Call::new("ControllerPublishVolume").about(&r.volume_id, detail).secrets(&r.secrets);
        self.calls.run(call, |s| attach(s, &r)).await
    }

    async fn controller_unpublish_volume(
        &self,
        r: Request<proto::ControllerUnpublishVolumeRequest>,
    ) -> Answer<proto::ControllerUnpublishVolumeResponse> {
        let r = r.into_inner();
        let detail = json!({ "from": r.node_id });
        let call = Call::new("ControllerUnpublishVolume").about(&r.volume_id, detail).secrets(&r.secrets);
        self.calls.run(call, |s| detach(s, &r)).await
    }

    async fn validate_volume_capabilities(
        &self,
        r: Request<proto::ValidateVolumeCapabilitiesRequest>,
    ) -> Answer<proto::ValidateVolumeCapabilitiesResponse> {
        let r = r.into_inner();
        let call = Call::new("ValidateVolumeCapabilities").about(&r.volume_id, json!({})).secrets(&r.secrets);
        self.calls.run(call, |s| validate(s, r)).await
    }

    async fn list_volumes(&self, r: Request<proto::ListVolumesRequest>) -> Answer<proto::ListVolumesResponse> {
        let r = r.into_inner();
        self.calls.run(Call::new("ListVolumes"), |s| list(s, &r)).await
    }

    async fn get_capacity(&self, _: Request<proto::GetCapacityRequest>) -> Answer<proto::GetCapacityResponse> {
        let work = |s: &mut Locked<'_>| {
            let available_capacity = bytes(self.options.capacity.saturating_sub(used(s)?));
            let maximum_volume_size = Some(bytes(self.options.max_size));
            Ok(proto::GetCapacityResponse { available_capacity, maximum_volume_size, ..Default::default() })
        };
        self.calls.run(Call::new("GetCapacity"), work).await
    }

    async fn create_snapshot(&self, r: Request<proto::CreateSnapshotRequest>) -> Answer<proto::CreateSnapshotResponse> {
        let r = r.into_inner();
        let detail = json!({ "source": r.source_volume_id });
        let call = Call::new("CreateSnapshot").about(&r.name, detail).secrets(&r.secrets);
        self.calls.run(call, |s| snapshots::create(s, &r)).await
    }

    async fn delete_snapshot(&self, r: Request<proto::DeleteSnapshotRequest>) -> Answer<proto::DeleteSnapshotResponse> {
        let r = r.into_inner();
        let call = Call::new("DeleteSnapshot").about(&r.snapshot_id, json!({})).secrets(&r.secrets);
        self.calls.run(call, |s| snapshots::delete(s, &r.snapshot_id)).await
    }

    async fn list_snapshots(&self, r: Request<proto::ListSnapshotsRequest>) -> Answer<proto::ListSnapshotsResponse> {
        let r = r.into_inner();
        self.calls.run(Call::new("ListSnapshots").secrets(&r.secrets), |s| snapshots::list(s, &r)).await
    }

    async fn controller_expand_volume(
        &self,
        r: Request<proto::ControllerExpandVolumeRequest>,
    ) -> Answer<proto::ControllerExpandVolumeResponse> {
        let r = r.into_inner();
        let call = Call::new("ControllerExpandVolume").about(&r.volume_id, json!({})).secrets(&r.secrets);
        self.calls.run(call, |s| expand(&self.options, s, &r)).await
    }
}

/// Fails if a required text is missing.
pub(crate) fn required(what: &str, text: &str) -> Result<(), Status> {
    if text.is_empty() { Err(Status::invalid_argument(format!("the {what} is missing"))) } else { Ok(()) }
}

/// Bytes of all volumes and snapshots.
pub(crate) fn used(s: &Locked<'_>) -> Result<u64, Status> {
    let volumes: u64 = s.volumes()?.iter().map(|v| v.capacity).sum();
    Ok(volumes + s.snapshots()?.iter().map(|s| s.size).sum::<u64>())
}

/// Bounds of a capacity.
fn range(range: Option<proto::CapacityRange>) -> Result<(u64, u64), Status> {
    let range = range.unwrap_or_default();
    let bound = |n: i64| u64::try_from(n).map_err(|_| Status::invalid_argument("a capacity is negative"));
    let (min, max) = (bound(range.required_bytes)?, bound(range.limit_bytes)?);
    let max = if max == 0 { u64::MAX } else { max };
    if min > max { Err(Status::invalid_argument("the capacity has no range")) } else { Ok((min, max)) }
}

fn create(
    options: &Options,
    s: &mut Locked<'_>,
    r: &proto::CreateVolumeRequest,
) -> Result<proto::CreateVolumeResponse, Status> {
    required("name", &r.name)?;
    let usages: Vec<Usage> = r.volume_capabilities.iter().map(|c| Usage::of(Some(c))).collect::<Result<_, _>>()?;
    if usages.is_empty() {
        return Err(Status::invalid_argument("the capabilities are missing"));
    }
    let (min, max) = range(r.capacity_range)?;
    let source = source(r)?;
    if let Some(volume) = s.volumes()?.into_iter().find(|v| v.name == r.name) {
        let same = (min..=max).contains(&volume.capacity)
            && volume.usages == usages
            && volume.parameters == r.parameters
            && volume.source == source
            && place(s, r)?.is_none_or(|place| volume.topology == place);
        return match same {
            true => Ok(proto::CreateVolumeResponse { volume: Some(volume.message()) }),
            false => Err(Status::already_exists(format!("the volume {} differs", volume.id))),
        };
    }
    let (from, least) = match &source {
        None => (None, 0),
        Some(Source::Volume(id)) => {
            let volume = s.known(id)?;
            (Some((s.volume_path(id), volume.block())), volume.capacity)
        }
        Some(Source::Snapshot(id)) => {
            let missing = || Status::not_found(format!("there is no snapshot {id}"));
            let snapshot = s.snapshot(id)?.ok_or_else(missing)?;
            (Some((s.snapshot_contents(&snapshot), snapshot.block)), snapshot.size)
        }
    };
    let block = usages.iter().any(|u| u.block);
    if from.as_ref().is_some_and(|(_, b)| *b != block) {
        return Err(Status::invalid_argument("the source is used in another way"));
    }
    let capacity = if min > 0 { min } else { DEFAULT_SIZE.max(least).min(max) };
    if capacity > options.max_size || capacity < least {
        return Err(Status::out_of_range(format!("{capacity} bytes; from {least} to {}", options.max_size)));
    }
    if used(s)?.saturating_add(capacity) > options.capacity {
        return Err(Status::resource_exhausted("the storage provider is full"));
    }
    let topology = place(s, r)?.unwrap_or_default();
    let volume = Volume {
        id: new_id("vol"),
        name: r.name.clone(),
        capacity,
        usages,
        parameters: r.parameters.clone(),
        source,
        topology,
        attached: BTreeMap::new(),
        staged: Vec::new(),
        published: Vec::new(),
    };
    s.create(&volume, from.as_ref().map(|(path, _)| path.as_path()))?;
    Ok(proto::CreateVolumeResponse { volume: Some(volume.message()) })
}

fn source(r: &proto::CreateVolumeRequest) -> Result<Option<Source>, Status> {
    let Some(source) = &r.volume_content_source else { return Ok(None) };
    match &source.r#type {
        Some(volume_content_source::Type::Volume(v)) => Ok(Some(Source::Volume(v.volume_id.clone()))),
        Some(volume_content_source::Type::Snapshot(s)) => Ok(Some(Source::Snapshot(s.snapshot_id.clone()))),
        None => Err(Status::invalid_argument("the source is missing")),
    }
}

/// Where a new volume is: the first place asked for that has a node; `None`: nothing was asked for.
fn place(s: &Locked<'_>, r: &proto::CreateVolumeRequest) -> Result<Option<BTreeMap<String, String>>, Status> {
    let Some(asked) = &r.accessibility_requirements else { return Ok(None) };
    let nodes = s.nodes()?;
    let has_node = |place: &&proto::Topology| {
        nodes.iter().any(|n| place.segments.iter().all(|(key, value)| n.topology.get(key) == Some(value)))
    };
    match asked.preferred.iter().chain(&asked.requisite).find(has_node) {
        Some(place) => Ok(Some(place.segments.clone())),
        None => Err(Status::resource_exhausted("there is no storage in the places asked for")),
    }
}

fn delete(s: &mut Locked<'_>, id: &str) -> Result<proto::DeleteVolumeResponse, Status> {
    required("volume ID", id)?;
    if let Some(volume) = s.volume(id)? {
        if !volume.attached.is_empty() || !volume.staged.is_empty() || !volume.published.is_empty() {
            return Err(Status::failed_precondition(format!("the volume {id} is in use")));
        }
        s.delete(&volume)?;
    }
    Ok(proto::DeleteVolumeResponse {})
}

fn attach(
    s: &mut Locked<'_>,
    r: &proto::ControllerPublishVolumeRequest,
) -> Result<proto::ControllerPublishVolumeResponse, Status> {
    required("volume ID", &r.volume_id)?;
    required("node ID", &r.node_id)?;
    let usage = Usage::of(r.volume_capability.as_ref())?;
    let mut volume = s.known(&r.volume_id)?;
    let node = s.node(&r.node_id)?.ok_or_else(|| Status::not_found(format!("there is no node {}", r.node_id)))?;
    if usage.block != volume.block() || !volume.reachable(&node.topology) {
        return Err(Status::invalid_argument("the volume can't be used so on the node"));
    }
    let wanted = Attachment { usage, read_only: r.readonly };
    let publish_context = volume.attach_context(&r.node_id);
    match volume.attached.get(&r.node_id) {
        Some(attached) if *attached == wanted => return Ok(proto::ControllerPublishVolumeResponse { publish_context }),
        Some(_) => return Err(Status::already_exists("the volume is attached to the node in another way")),
        None => {}
    }
    for (other, attached) in &volume.attached {
        let both_write = wanted.writes() && attached.writes();
        let many_writers = wanted.usage.many_writers() && attached.usage.many_writers();
        if both_write && !many_writers {
            let nodes = [other, &r.node_id];
            s.violation(&json!({ "kind": "two writers attached", "volume": volume.id, "nodes": nodes }))?;
        }
        let many_nodes = wanted.usage.many_nodes() && attached.usage.many_nodes();
        if !many_nodes || both_write && !many_writers {
            return Err(Status::failed_precondition(format!("the volume is attached to the node {other}")));
        }
    }
    let held = s.volumes()?.iter().filter(|v| v.attached.contains_key(&r.node_id)).count();
    if node.max_volumes > 0 && u32::try_from(held).is_ok_and(|held| held >= node.max_volumes) {
        return Err(Status::resource_exhausted(format!("the node {} holds {held} volumes", r.node_id)));
    }
    volume.attached.insert(r.node_id.clone(), wanted);
    s.save(&volume)?;
    Ok(proto::ControllerPublishVolumeResponse { publish_context })
}

/// Detaching a volume that is mounted fences it off, as providers do for nodes that are lost. That is recorded: it is
/// an error unless the node is.
fn detach(
    s: &mut Locked<'_>,
    r: &proto::ControllerUnpublishVolumeRequest,
) -> Result<proto::ControllerUnpublishVolumeResponse, Status> {
    required("volume ID", &r.volume_id)?;
    let Some(mut volume) = s.volume(&r.volume_id)? else {
        return Ok(proto::ControllerUnpublishVolumeResponse {});
    };
    // No node: all of them.
    let concerned = |node: &str| r.node_id.is_empty() || node == r.node_id;
    let mounted = volume.published.iter().any(|p| concerned(&p.node));
    if mounted || volume.staged.iter().any(|p| concerned(&p.node)) {
        s.violation(&json!({ "kind": "detached while mounted", "volume": volume.id, "nodes": [r.node_id] }))?;
    }
    volume.attached.retain(|node, _| !concerned(node));
    volume.published.retain(|p| !concerned(&p.node));
    volume.staged.retain(|p| !concerned(&p.node));
    s.save(&volume)?;
    Ok(proto::ControllerUnpublishVolumeResponse {})
}

fn validate(
    s: &Locked<'_>,
    r: proto::ValidateVolumeCapabilitiesRequest,
) -> Result<proto::ValidateVolumeCapabilitiesResponse, Status> {
    use proto::validate_volume_capabilities_response::Confirmed;
    required("volume ID", &r.volume_id)?;
    if r.volume_capabilities.is_empty() {
        return Err(Status::invalid_argument("the capabilities are missing"));
    }
    let volume = s.known(&r.volume_id)?;
    for capability in &r.volume_capabilities {
        let usage = Usage::of(Some(capability))?;
        let holds = |have: &Usage| {
            have.block == usage.block
                && (have.many_nodes() || !usage.many_nodes())
                && (have.many_writers() || !usage.many_writers())
        };
        if !volume.usages.iter().any(holds) {
            let message = format!("the volume can't be used as {}", usage.mode);
            return Ok(proto::ValidateVolumeCapabilitiesResponse { confirmed: None, message });
        }
    }
    let confirmed = Confirmed {
        volume_context: r.volume_context,
        volume_capabilities: r.volume_capabilities,
        parameters: r.parameters,
        ..Default::default()
    };
    Ok(proto::ValidateVolumeCapabilitiesResponse { confirmed: Some(confirmed), ..Default::default() })
}

fn list(s: &Locked<'_>, r: &proto::ListVolumesRequest) -> Result<proto::ListVolumesResponse, Status> {
    use proto::list_volumes_response::{Entry, VolumeStatus};
    let (volumes, next_token) = page(s.volumes()?, |v| &v.id, r.max_entries, &r.starting_token)?;
    let entry = |v: &Volume| {
        let published_node_ids = v.attached.keys().cloned().collect();
        Entry { volume: Some(v.message()), status: Some(VolumeStatus { published_node_ids }) }
    };
    Ok(proto::ListVolumesResponse { entries: volumes.iter().map(entry).collect(), next_token })
}

/// A page of a list that is sorted by ID, and the token of the next one: `after:<ID>`.
pub(crate) fn page<T>(
    mut all: Vec<T>,
    id: impl Fn(&T) -> &str,
    most: i32,
    token: &str,
) -> Result<(Vec<T>, String), Status> {
    let most = usize::try_from(most).map_err(|_| Status::invalid_argument("the number of entries is negative"))?;
    if !token.is_empty() {
        let last = token.strip_prefix("after:").ok_or_else(|| Status::aborted("the token is not valid"))?;
        all.retain(|entry| id(entry) > last);
    }
    let mut next = String::new();
    if most > 0 && all.len() > most {
        all.truncate(most);
        next = all.last().map(|last| format!("after:{}", id(last))).unwrap_or_default();
    }
    Ok((all, next))
}

fn expand(
    options: &Options,
    s: &mut Locked<'_>,
    r: &proto::ControllerExpandVolumeRequest,
) -> Result<proto::ControllerExpandVolumeResponse, Status> {
    required("volume ID", &r.volume_id)?;
    if r.capacity_range.is_none() {
        return Err(Status::invalid_argument("the capacity is missing"));
    }
    let (min, max) = range(r.capacity_range)?;
    let mut volume = s.known(&r.volume_id)?;
    let wanted = min.max(volume.capacity);
    if wanted > max || wanted > options.max_size {
        return Err(Status::out_of_range(format!("{wanted} bytes; at most {}", max.min(options.max_size))));
    }
    if used(s)?.saturating_add(wanted - volume.capacity) > options.capacity {
        return Err(Status::resource_exhausted("the storage provider is full"));
    }
    volume.capacity = wanted;
    s.save(&volume)?;
    Ok(proto::ControllerExpandVolumeResponse { capacity_bytes: bytes(wanted), node_expansion_required: true })
}
