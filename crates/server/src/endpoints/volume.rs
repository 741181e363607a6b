//! Dynamic host volumes: validated, placed on a node, stored (`docs/spec/http-api.md §5.14`). The caller performs the
//! operations on the node.

use std::sync::Arc;

use crate::Server;
use crate::error::{Error, multi_error};
use crate::fsm::refuse_used;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::Operation;
use encamp_scheduler::constraint::Check;
use encamp_state::State;

/// The plugin available on every node.
pub(crate) const DEFAULT_PLUGIN: &str = "mkdir";

const ACCESS_MODES: [&str; 4] =
    ["single-node-reader-only", "single-node-writer", "single-node-single-writer", "single-node-multi-writer"];
const ATTACHMENT_MODES: [&str; 2] = ["file-system", "block-device"];

fn problems(v: &HostVolume) -> Vec<String> {
    let mut out = Vec::new();
    if v.name.is_empty() {
        out.push("missing name".to_string());
    }
    let (least, most) = (v.requested_capacity_min_bytes, v.requested_capacity_max_bytes);
    if most > 0 && most < least {
        out.push(format!("capacity_max ({most}) must be larger than capacity_min ({least})"));
    }
    for c in &v.requested_capabilities {
        if !ACCESS_MODES.contains(&c.access_mode.as_str()) {
            out.push(format!("invalid access mode: {}", quoted(&c.access_mode)));
        }
        if !ATTACHMENT_MODES.contains(&c.attachment_mode.as_str()) {
            out.push(format!("invalid attachment mode: {}", quoted(&c.attachment_mode)));
        }
    }
    out
}

/// Prepares a volume for creation: sets defaults and chooses a node. An existing volume, given by its ID, retains its
/// immutable fields.
///
/// # Errors
/// 500: the volume is invalid, or no node can hold it.
pub async fn prepare(server: &Server, namespace: &str, mut volume: HostVolume) -> Result<HostVolume, Error> {
    server.wait_ready().await?;
    if volume.namespace.is_empty() {
        volume.namespace = namespace.into();
    }
    if volume.plugin_id.is_empty() {
        volume.plugin_id = DEFAULT_PLUGIN.into();
    }
    if volume.requested_capabilities.is_empty() {
        let (access_mode, attachment_mode) = ("single-node-writer".into(), "file-system".into());
        volume.requested_capabilities = vec![HostVolumeCapability { attachment_mode, access_mode }];
    }
    let wrong = problems(&volume);
    if !wrong.is_empty() {
        return Err(Error::internal(multi_error(&wrong)));
    }
    let now = ids::now();
    (volume.create_time, volume.modify_time, volume.state) = (now, now, HostVolumeState::Pending);
    (volume.create_index, volume.modify_index, volume.allocations) = (0, 0, Vec::new());
    let snapshot = server.snapshot();
    let state = snapshot.state();
    if !volume.id.is_empty() {
        let old = state.host_volume(&volume.id).filter(|v| v.namespace == volume.namespace);
        let old = old.ok_or_else(|| Error::internal(format!("no such volume: {}", volume.id)))?;
        if old.name != volume.name || old.plugin_id != volume.plugin_id {
            return Err(Error::internal("name and plugin of a volume can not be changed"));
        }
        volume.node_id.clone_from(&old.node_id);
        volume.host_path.clone_from(&old.host_path);
        volume.create_time = old.create_time;
    } else {
        volume.id = ids::uuid();
    }
    let node = match volume.node_id.as_str() {
        "" => place(state, &volume)?,
        id => state.node(id).map(|n| n.node.clone()).ok_or_else(Error::node_not_found)?,
    };
    if !volume.node_pool.is_empty() && volume.node_pool != node.node_pool {
        let (id, pool) = (quoted(&node.id), quoted(&volume.node_pool));
        return Err(Error::internal(format!("requested node ID {id} is not in requested node pool {pool}")));
    }
    volume.node_id.clone_from(&node.id);
    volume.node_pool.clone_from(&node.node_pool);
    Ok(volume)
}

/// The first feasible node for the volume.
fn place(state: &State, volume: &HostVolume) -> Result<Arc<Node>, Error> {
    let checks: Vec<Check> = volume.constraints.iter().map(Check::from).collect();
    let plugin = format!("plugins.host_volume.{}.version", volume.plugin_id);
    let in_pool = |n: &Node| volume.node_pool.is_empty() || volume.node_pool == n.node_pool;
    let (mut have, mut infeasible) = (0, 0);
    for node in state.nodes().map(|n| &n.node) {
        if node.status != NodeStatus::Ready
            || node.scheduling_eligibility != NodeEligibility::Eligible
            || !in_pool(node)
        {
            continue;
        }
        // The node may not have reported the volume yet.
        let stored = state.host_volumes().any(|v| v.node_id == node.id && v.name == volume.name);
        if stored || node.host_volumes.contains_key(&volume.name) {
            have += 1;
        } else if !node.attributes.contains_key(&plugin) || !checks.iter().all(|c| c.matches(node)) {
            infeasible += 1;
        } else {
            return Ok(node.clone());
        }
    }
    Err(Error::internal(format!(
        "could not place volume {}: no node meets constraints: {have} nodes had existing volume, 0 nodes filtered by node \
         pool governance, {infeasible} nodes were infeasible",
        quoted(&volume.name)
    )))
}

/// Stores a volume that exists on its node. Returns the index.
///
/// # Errors
/// The name is in use on the node, the namespace does not exist, or there is no leader.
pub async fn register(server: &Server, volume: HostVolume) -> Result<u64, Error> {
    let op = Operation::HostVolumeRegister { volume: Arc::new(volume) };
    server.commit(op).await.map(|(index, _)| index)
}

/// The volume to be deleted.
///
/// # Errors
/// 500: the volume does not exist, or allocations use it.
pub async fn deletable(server: &Server, id: &str) -> Result<Arc<HostVolume>, Error> {
    server.wait_ready().await?;
    let snapshot = server.snapshot();
    let volume = snapshot.state().host_volume(id).ok_or_else(|| Error::internal(format!("no such volume: {id}")))?;
    refuse_used(snapshot.state(), volume)?;
    Ok(volume.clone())
}

/// Removes a volume that was deleted on its node. Returns the index.
///
/// # Errors
/// The volume does not exist, allocations use it, or there is no leader.
pub async fn delete(server: &Server, id: &str) -> Result<u64, Error> {
    server.commit(Operation::HostVolumeDelete { id: id.into() }).await.map(|(index, _)| index)
}
