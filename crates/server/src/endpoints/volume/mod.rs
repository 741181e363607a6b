//! Dynamic host volumes: validated, placed on a node, stored (`docs/spec/http-api.md §5.14.1`). The caller performs the
//! operations on the node.
//!
//! [`check`]: whether a volume is valid.

mod check;

use std::sync::Arc;

use crate::error::{Error, multi_error};
use crate::fsm::refuse_used;
use crate::leading::Leading;
use crate::server_state::ServerState;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::Operation;
use encamp_scheduler::constraint::Check;
use encamp_state::State;

/// The plugin available on every node.
pub(crate) const DEFAULT_PLUGIN: &str = "mkdir";

/// How a volume comes into being on its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A plugin creates it.
    Created,
    /// It is an existing directory.
    Registered,
}

/// A volume that may be created or registered on its node.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The volume.
    pub volume: HostVolume,
    /// The stored volume that it changes; none: it is new.
    pub old: Option<Arc<HostVolume>>,
}

/// Prepares a volume: sets defaults and chooses a node. An existing volume, given by its ID, retains its immutable
/// fields.
///
/// # Errors
/// 500: the volume is not valid, or no node can hold it.
pub async fn prepare(
    server: &Leading,
    namespace: &str,
    mut volume: HostVolume,
    origin: Origin,
) -> Result<Prepared, Error> {
    server.wait_ready().await?;
    if volume.namespace.is_empty() {
        volume.namespace = namespace.into();
    }
    if origin == Origin::Registered {
        check::registrable(&volume)?;
    }
    let snapshot = server.snapshot();
    let state = snapshot.state();
    let old = match volume.id.as_str() {
        "" => None,
        id => Some(stored(state, id).ok().filter(|v| v.namespace == volume.namespace).ok_or_else(|| missing(id))?),
    };
    set_defaults(&mut volume, old.as_deref(), origin);
    let wrong = check::problems(&volume, origin);
    if !wrong.is_empty() {
        return Err(Error::internal(multi_error(&wrong)));
    }
    let now = ids::now();
    (volume.create_time, volume.modify_time) = (now, now);
    (volume.create_index, volume.modify_index, volume.allocations) = (0, 0, Vec::new());
    match &old {
        None => {
            volume.state = HostVolumeState::Pending;
            volume.id = ids::uuid();
        }
        Some(old) => {
            let wrong = check::changes(state, old, &volume, origin);
            if !wrong.is_empty() {
                return Err(Error::internal(multi_error(&wrong)));
            }
            volume.state = old.state.clone();
            volume.node_id.clone_from(&old.node_id);
            volume.create_time = old.create_time;
        }
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
    Ok(Prepared { volume, old })
}

/// Sets what the request left out, and what it may not set.
fn set_defaults(volume: &mut HostVolume, old: Option<&HostVolume>, origin: Origin) {
    if volume.requested_capabilities.is_empty() {
        volume.requested_capabilities = match old {
            Some(old) => old.requested_capabilities.clone(),
            None => {
                let access_mode = VolumeAccessMode::SingleNodeWriter;
                vec![HostVolumeCapability { attachment_mode: "file-system".into(), access_mode }]
            }
        };
    }
    match (origin, old) {
        (Origin::Created, None) => {
            if volume.plugin_id.is_empty() {
                volume.plugin_id = DEFAULT_PLUGIN.into();
            }
            (volume.host_path, volume.capacity_bytes) = (String::new(), 0);
        }
        (Origin::Created, Some(old)) => {
            if volume.plugin_id.is_empty() {
                volume.plugin_id.clone_from(&old.plugin_id);
            }
            volume.host_path.clone_from(&old.host_path);
            volume.capacity_bytes = old.capacity_bytes;
        }
        // No plugin creates it, and it is where it is.
        (Origin::Registered, old) => {
            volume.plugin_id = old.map(|v| v.plugin_id.clone()).unwrap_or_default();
            volume.constraints = old.map(|v| v.constraints.clone()).unwrap_or_default();
            if let Some(old) = old.filter(|_| volume.capacity_bytes == 0) {
                volume.capacity_bytes = old.capacity_bytes;
            }
        }
    }
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
            return Ok(Arc::clone(node));
        }
    }
    Err(Error::internal(format!(
        "could not place volume {}: no node meets constraints: {have} nodes had existing volume, 0 nodes filtered by node \
         pool governance, {infeasible} nodes were infeasible",
        quoted(&volume.name)
    )))
}

fn missing(id: &str) -> Error {
    Error::internal(format!("no such volume: {id}"))
}

fn stored(state: &State, id: &str) -> Result<Arc<HostVolume>, Error> {
    state.host_volume(id).cloned().ok_or_else(|| missing(id))
}

/// Stores a volume. A new one is stored before it exists on its node, so that it is seen whatever happens next, and
/// its name is taken. Returns the index.
///
/// # Errors
/// The name is in use on the node, the namespace does not exist, or there is no leader.
pub async fn store(server: &Leading, volume: HostVolume) -> Result<u64, Error> {
    let op = Operation::HostVolumeRegister { volume: Arc::new(volume) };
    server.commit(op).await.map(|(index, _)| index)
}

/// The volume to be deleted.
///
/// # Errors
/// 500: the volume does not exist, or allocations use it.
pub async fn deletable(server: &Leading, id: &str) -> Result<Arc<HostVolume>, Error> {
    server.wait_ready().await?;
    let snapshot = server.snapshot();
    let volume = stored(snapshot.state(), id)?;
    refuse_used(snapshot.state(), &volume)?;
    Ok(volume)
}

/// The node that reports a volume that no server knows: what an interrupted deletion by force leaves behind.
pub fn reporting_node(server: &ServerState, id: &str) -> Option<String> {
    let snapshot = server.snapshot();
    if snapshot.state().host_volume(id).is_some() {
        return None;
    }
    let mut nodes = snapshot.state().nodes().map(|n| &n.node);
    nodes.find(|n| n.host_volumes.values().any(|v| !v.id.is_empty() && v.id == id)).map(|n| n.id.clone())
}

/// Marks a volume as being deleted: no allocation is placed on it from here on.
///
/// # Errors
/// Allocations use it, or there is no leader.
pub async fn begin_deletion(server: &Leading, volume: &HostVolume) -> Result<(), Error> {
    let marked = HostVolume { state: HostVolumeState::Deleted, modify_time: ids::now(), ..volume.clone() };
    store(server, marked).await.map(drop)
}

/// Withdraws [`begin_deletion`]: the node failed to delete the volume.
///
/// # Errors
/// There is no leader.
pub async fn cancel_deletion(server: &Leading, volume: &HostVolume) -> Result<(), Error> {
    let state = match &volume.state {
        HostVolumeState::Unavailable => HostVolumeState::Unavailable,
        // It is ready again if its node reports it.
        _ => HostVolumeState::Pending,
    };
    store(server, HostVolume { state, modify_time: ids::now(), ..volume.clone() }).await.map(drop)
}

/// Removes a volume that was deleted on its node. Returns the index.
///
/// # Errors
/// The volume does not exist, allocations use it, or there is no leader.
pub async fn delete(server: &Leading, id: &str) -> Result<u64, Error> {
    server.commit(Operation::HostVolumeDelete { id: id.into() }).await.map(|(index, _)| index)
}

/// The claim of a task group on a volume.
///
/// # Errors
/// 500: it does not exist.
pub async fn claim(server: &Leading, id: &str) -> Result<Arc<TaskGroupHostVolumeClaim>, Error> {
    server.wait_ready().await?;
    let snapshot = server.snapshot();
    let claim = snapshot.state().host_volume_claims().find(|c| c.id == id).cloned();
    claim.ok_or_else(|| Error::from(encamp_ops::Refusal::VolumeClaimNotFound))
}

/// Removes the claim of a task group on a volume. Returns the index.
///
/// # Errors
/// It does not exist, or there is no leader.
pub async fn delete_claim(server: &Leading, id: &str) -> Result<u64, Error> {
    server.commit(Operation::HostVolumeClaimDelete { id: id.into() }).await.map(|(index, _)| index)
}
