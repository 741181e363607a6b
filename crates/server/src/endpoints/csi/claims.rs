//! Claims on CSI volumes: calls of nodes (`docs/spec/client.md §24.2`), and the release of claims by hand.

use super::{existing, plugin, stored};
use crate::csi::release::free;
use crate::csi::{AskError, ask_controller, attaches, external_node_id, release as steps};
use crate::error::Error;
use crate::leading::Leading;
use crate::nodes::node_auth::{NodeProof, authenticate};
use crate::server_state::ServerState;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::{CsiClaimChange, Operation, Refusal};

/// A node claims a volume for an allocation that it runs and that asks for the volume. The claim is written first, then
/// the controller attaches the volume: a server that fails in between leaves a claim, which is released when the
/// allocation ends. The same claim again attaches again, which changes nothing.
///
/// # Errors
/// The proof is wrong; the allocation is not the node's, has ended or does not ask for the volume; the access mode of the
/// volume does not admit the claim; or the controller failed.
pub async fn claim(
    server: &Leading,
    node_id: &str,
    proof: &NodeProof,
    request: CsiClaimRequest,
) -> Result<CsiClaimed, Error> {
    server.wait_ready().await?;
    let node = authenticate(server, node_id, proof)?;
    let _lock = server.csi().lock(&request.namespace, &request.volume_id).await;
    let key = (request.namespace.clone(), request.volume_id.clone());
    let volume = existing(server, &key.0, &key.1)?;
    let plugin = plugin(server, &volume.plugin_id)?;
    if !asks(server, &node.id, &request) {
        return Err(Refusal::CsiAllocEnded { alloc: request.alloc_id }.into());
    }
    let mode = if request.read_only { CsiClaimMode::Read } else { CsiClaimMode::Write };
    let claim = CsiVolumeClaim {
        allocation_id: request.alloc_id.clone(),
        node_id: node.id.clone(),
        external_node_id: external_node_id(&plugin, &node.id),
        mode: mode.number(),
        access_mode: request.capability.access_mode,
        attachment_mode: request.capability.attachment_mode,
        state: CsiClaimState::Taken.number(),
    };
    let change = CsiClaimChange { volume: key.clone(), claim: claim.clone(), now: ids::now() };
    server.commit(Operation::CsiVolumeClaim(Box::new(change))).await?;
    let volume = existing(server, &key.0, &key.1)?;
    let claim = steps::stored(&volume, &request.alloc_id).unwrap_or(claim);
    let mut attach_context = Default::default();
    if attaches(&plugin) {
        let operation = CsiOperation::Attach { volume: Box::new(CsiVolume::clone(&volume)), claim: claim.clone() };
        let CsiReply::Attached { context } = ask_controller(server, &plugin, operation).await? else {
            return Err(AskError::Odd(plugin.id.clone()).into());
        };
        attach_context = context;
    }
    Ok(CsiClaimed { volume: Box::new(CsiVolume::clone(&volume)), claim, attach_context })
}

/// Whether an allocation runs on a node and its group asks for the volume, and to write if the claim is for that.
fn asks(server: &ServerState, node_id: &str, request: &CsiClaimRequest) -> bool {
    let snapshot = server.snapshot();
    let Some(entry) = snapshot.state().alloc(&request.alloc_id) else { return false };
    let alloc = &entry.alloc;
    if alloc.node_id != node_id || alloc.namespace != request.namespace || alloc.terminal() {
        return false;
    }
    let volumes = alloc.group().and_then(|g| g.volumes.as_ref()).into_iter().flat_map(|v| v.values());
    volumes.into_iter().any(|r| {
        let of_volume = r.r#type == "csi" && r.source_for(&alloc.name) == request.volume_id;
        of_volume && (request.read_only || !r.read_only)
    })
}

/// A node has unmounted a volume for an allocation: the claim is released. Nothing is done if there is no such claim.
///
/// # Errors
/// The proof is wrong, the claim is another node's, or the controller failed: the leader goes on later.
pub async fn release(server: &Leading, node_id: &str, proof: &NodeProof, release: CsiRelease) -> Result<(), Error> {
    server.wait_ready().await?;
    let node = authenticate(server, node_id, proof)?;
    let key = (release.namespace, release.volume_id);
    let _lock = server.csi().lock(&key.0, &key.1).await;
    let claim = stored(server, &key.0, &key.1).and_then(|v| steps::stored(&v, &release.alloc_id));
    let Some(claim) = claim else { return Ok(()) };
    if claim.node_id != node.id {
        return Err(Error::permission_denied());
    }
    free(server, &key, &release.alloc_id, true).await
}

/// Releases the claims that a node has on a volume, even of allocations that run.
///
/// # Errors
/// 500: there is no such volume, or a step of a release failed: the leader goes on later.
pub async fn detach(server: &Leading, namespace: &str, id: &str, node_id: &str) -> Result<(), Error> {
    server.wait_ready().await?;
    let key = (namespace.to_string(), id.to_string());
    let _lock = server.csi().lock(namespace, id).await;
    let volume = stored(server, namespace, id).ok_or_else(|| Error::internal("no such volume"))?;
    let on_node = |alloc: &&String| steps::stored(&volume, alloc).is_some_and(|c| c.node_id == node_id);
    let allocs: std::collections::BTreeSet<&String> = volume.claiming().filter(on_node).collect();
    for alloc in &allocs {
        steps::write(server, &key, alloc, CsiClaimState::Unpublishing).await?;
    }
    for alloc in allocs {
        free(server, &key, alloc, false).await?;
    }
    Ok(())
}
