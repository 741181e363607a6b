//! Frees claims on CSI volumes (`docs/spec/garbage-collection.md §8`): the node unmounts the volume, the controller
//! detaches it from the node, the claim is freed. Each step is written to the log before the next one begins, so that
//! another leader goes on where this one stopped.

use std::sync::Arc;

use super::{ask_controller, ask_node, attaches, done, external_node_id};
use crate::error::Error;
use crate::leading::Leading;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::{CsiClaimChange, Operation};
use encamp_state::StateStore;

/// What the release of a claim needs next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The node has to unmount the volume.
    Unmount,
    /// The controller has to detach the volume from the node.
    Detach {
        /// The storage provider's ID of the node.
        external_node_id: String,
    },
    /// Nothing.
    Nothing,
    /// It can't go on: the storage provider's ID of the node is unknown, and other nodes use the volume.
    Stuck,
}

/// The next step of the release of a claim, and the state of the claim once it is done.
pub fn next(store: &StateStore, volume: &CsiVolume, claim: &CsiVolumeClaim) -> (Step, CsiClaimState) {
    match claim.progress() {
        None | Some(CsiClaimState::Taken | CsiClaimState::Unpublishing) => {
            let node = store.state().node(&claim.node_id);
            // A node that is gone or down unmounts nothing; the controller takes the volume away from it.
            let there = node.is_some_and(|n| n.node.status != NodeStatus::Down);
            let step = if there { Step::Unmount } else { Step::Nothing };
            (step, CsiClaimState::NodeDetached)
        }
        Some(CsiClaimState::NodeDetached) => (detach(store, volume, claim), CsiClaimState::ControllerDetached),
        Some(CsiClaimState::ControllerDetached | CsiClaimState::ReadyToFree) => {
            (Step::Nothing, CsiClaimState::ReadyToFree)
        }
    }
}

fn detach(store: &StateStore, volume: &CsiVolume, claim: &CsiVolumeClaim) -> Step {
    let plugin = store.csi_plugin(&volume.plugin_id);
    // Without a row of the plugin, the volume still knows whether it has a controller.
    if plugin.map_or(!volume.controller_required, |p| !attaches(p)) {
        return Step::Nothing;
    }
    let others = || {
        let all = volume.claiming().filter(|id| **id != claim.allocation_id);
        all.filter_map(|id| volume.claim_of(id))
    };
    // The last claim of the node detaches it.
    if others().any(|c| c.node_id == claim.node_id && c.progress() != Some(CsiClaimState::ControllerDetached)) {
        return Step::Nothing;
    }
    let reported = plugin.map(|p| external_node_id(p, &claim.node_id)).unwrap_or_default();
    let external_node_id = if claim.external_node_id.is_empty() { reported } else { claim.external_node_id.clone() };
    // Plugins take no node for all nodes.
    if external_node_id.is_empty() && others().next().is_some() {
        return Step::Stuck;
    }
    Step::Detach { external_node_id }
}

/// Releases the claim of an allocation to the end. `node_detached`: its node has unmounted the volume. The caller has
/// locked the volume. Nothing is done if there is no such claim.
///
/// # Errors
/// A step failed: the claim stays as far as it is, and can be released again.
pub(crate) async fn free(
    server: &Leading,
    key: &(String, String),
    alloc_id: &str,
    node_detached: bool,
) -> Result<(), Error> {
    if node_detached {
        write(server, key, alloc_id, CsiClaimState::NodeDetached).await?;
    }
    loop {
        let snapshot = server.snapshot();
        let Some(volume) = snapshot.state().csi_volume(&key.0, &key.1) else { return Ok(()) };
        let Some(claim) = stored(volume, alloc_id) else { return Ok(()) };
        let (step, after) = next(&snapshot, volume, &claim);
        let volume = volume.clone();
        match step {
            Step::Nothing => {}
            Step::Stuck => {
                let text = format!("the storage provider's ID of node {} is unknown", claim.node_id);
                return Err(Error::internal(text));
            }
            Step::Unmount => unmount(server, &volume, &claim).await?,
            Step::Detach { external_node_id } => {
                let plugin = snapshot.csi_plugin(&volume.plugin_id).cloned();
                let plugin = plugin.ok_or_else(|| super::AskError::NoController(volume.plugin_id.clone()))?;
                let (external_id, secrets) = (volume.external_id.clone(), volume.secrets.clone());
                let operation = CsiOperation::Detach { external_id, external_node_id, secrets };
                match ask_controller(server, &plugin, operation).await {
                    Err(e) if e.not_found() => {}
                    answer => done(answer?, &plugin.id)?,
                }
            }
        }
        write(server, key, alloc_id, after).await?;
    }
}

/// The claim of an allocation; one that older snapshots have without details is generated from its volume.
pub(crate) fn stored(volume: &CsiVolume, alloc_id: &str) -> Option<CsiVolumeClaim> {
    if let Some(claim) = volume.claim_of(alloc_id) {
        return Some(claim.clone());
    }
    volume.claiming().any(|id| id == alloc_id).then(|| CsiVolumeClaim {
        allocation_id: alloc_id.into(),
        access_mode: volume.access_mode.clone(),
        attachment_mode: volume.attachment_mode.clone(),
        ..Default::default()
    })
}

async fn unmount(server: &Leading, volume: &Arc<CsiVolume>, claim: &CsiVolumeClaim) -> Result<(), Error> {
    let operation = CsiOperation::Unmount { volume: Box::new(CsiVolume::clone(volume)), claim: claim.clone() };
    match ask_node(server, &claim.node_id, &volume.plugin_id, operation).await {
        Err(e) if e.not_found() => Ok(()),
        answer => Ok(done(answer?, &volume.plugin_id)?),
    }
}

/// Writes how far the release of a claim is.
///
/// # Errors
/// There is no leader, or the volume is gone.
pub(crate) async fn write(
    server: &Leading,
    key: &(String, String),
    alloc_id: &str,
    state: CsiClaimState,
) -> Result<(), Error> {
    let claim = {
        let snapshot = server.snapshot();
        let volume = snapshot.state().csi_volume(&key.0, &key.1);
        volume
            .and_then(|v| stored(v, alloc_id))
            .unwrap_or_else(|| CsiVolumeClaim { allocation_id: alloc_id.into(), ..Default::default() })
    };
    let claim = CsiVolumeClaim { state: state.number(), ..claim };
    let change = CsiClaimChange { volume: key.clone(), claim, now: ids::now() };
    server.commit(Operation::CsiVolumeClaim(Box::new(change))).await.map(drop)
}
