//! CSI volumes and the claims on them (`docs/spec/server.md §18`, `docs/spec/garbage-collection.md §8`).
//!
//! A claim counts against the access mode until it is freed: while it is being released, the volume may still be
//! mounted. So it stays among the claims of its kind, and is in addition a past claim.

use std::sync::Arc;

use super::csi_plugin;
use super::txn::Txn;
use encamp_model::*;
use encamp_ops::{CsiClaimChange, Refusal};

/// Registers volumes, all or none. A registered volume keeps its claims; its plugin and its ID at the storage provider
/// cannot change, and settings that only a plugin gives (context, topologies, capacity, secrets) are kept where the new
/// record has none.
pub(crate) fn register(txn: &mut Txn, volumes: &[Arc<CsiVolume>], now: i64) -> Result<(), Refusal> {
    volumes.iter().try_for_each(|v| put(txn, v, now))
}

fn put(txn: &mut Txn, volume: &CsiVolume, now: i64) -> Result<(), Refusal> {
    let state = txn.store.state();
    if state.namespace(&volume.namespace).is_none() {
        let (volume, namespace) = (volume.id.clone(), volume.namespace.clone());
        return Err(Refusal::CsiVolumeNamespaceNotFound { volume, namespace });
    }
    let mut new = CsiVolume { allocations: Vec::new(), ..volume.clone() };
    match state.csi_volume(&volume.namespace, &volume.id).map(|v| CsiVolume::clone(v)) {
        Some(old) => keep(&mut new, old)?,
        None => {
            (new.read_allocs, new.write_allocs) = Default::default();
            (new.read_claims, new.write_claims, new.past_claims) = Default::default();
            (new.access_mode, new.attachment_mode) = Default::default();
            new.resource_exhausted = Time::default();
            (new.create_index, new.create_time) = (txn.index, now);
        }
    }
    (new.modify_index, new.modify_time) = (txn.index, now);
    csi_plugin::refresh(&mut new, txn.store.csi_plugin(&volume.plugin_id).map(|p| &**p));
    txn.put_csi_volume(new);
    Ok(())
}

/// Takes over into a new record what the old one has and a registration does not change.
fn keep(new: &mut CsiVolume, old: CsiVolume) -> Result<(), Refusal> {
    let other = |new: &str, old: &str| !new.is_empty() && new != old;
    if other(&new.plugin_id, &old.plugin_id) || other(&new.external_id, &old.external_id) {
        return Err(Refusal::CsiVolumeExists { id: old.id });
    }
    let used_as = |c: &CsiVolumeCapability| {
        c.access_mode == old.access_mode && (old.attachment_mode.is_empty() || c.attachment_mode == old.attachment_mode)
    };
    if !old.access_mode.is_unset() && !new.requested_capabilities.iter().any(used_as) {
        return Err(Refusal::CsiVolumeInUse { id: old.id });
    }
    (new.plugin_id, new.external_id) = (old.plugin_id, old.external_id);
    if new.secrets.is_empty() {
        new.secrets = old.secrets;
    }
    if new.context.is_empty() {
        new.context = old.context;
    }
    if new.topologies.is_empty() {
        new.topologies = old.topologies;
    }
    if new.capacity == 0 {
        new.capacity = old.capacity;
    }
    (new.read_allocs, new.write_allocs) = (old.read_allocs, old.write_allocs);
    (new.read_claims, new.write_claims, new.past_claims) = (old.read_claims, old.write_claims, old.past_claims);
    (new.access_mode, new.attachment_mode) = (old.access_mode, old.attachment_mode);
    (new.create_index, new.create_time) = (old.create_index, old.create_time);
    new.resource_exhausted = old.resource_exhausted;
    Ok(())
}

/// Removes a volume that no allocation claims. `force`: claims of allocations that are gone or have ended on their node
/// do not matter.
pub(crate) fn deregister(txn: &mut Txn, (namespace, id): &(String, String), force: bool) -> Result<(), Refusal> {
    let state = txn.store.state();
    let volume = state.csi_volume(namespace, id).ok_or_else(|| Refusal::CsiVolumeNotFound { id: id.clone() })?;
    let runs = |alloc: &String| state.alloc(alloc).is_some_and(|a| !a.alloc.client_terminal());
    let used = if force { volume.claiming().any(runs) } else { volume.in_use() };
    if used {
        return Err(Refusal::CsiVolumeInUse { id: id.clone() });
    }
    txn.remove_csi_volume(namespace, id);
    Ok(())
}

/// Takes a claim, or writes how far its release is.
pub(crate) fn claim(txn: &mut Txn, change: &CsiClaimChange) -> Result<(), Refusal> {
    let (namespace, id) = &change.volume;
    let state = txn.store.state();
    let stored = state.csi_volume(namespace, id).ok_or_else(|| Refusal::CsiVolumeNotFound { id: id.clone() })?;
    let mut volume = CsiVolume::clone(stored);
    let claim = &change.claim;
    let (purpose, progress) = claim.purpose().zip(claim.progress()).ok_or(Refusal::CsiClaimUnknown)?;
    match (purpose, progress) {
        // The write itself wakes the watcher of the volume.
        (CsiClaimMode::Collect, _) => {}
        (purpose, CsiClaimState::Taken) => {
            if !take(txn, &mut volume, claim, purpose == CsiClaimMode::Write)? {
                return Ok(());
            }
        }
        (_, CsiClaimState::ReadyToFree) => {
            if !free(&mut volume, &claim.allocation_id) {
                return Ok(());
            }
            // What waits for a writer to let go waits for no class of nodes in particular.
            txn.unblock(&claim.node_id);
        }
        (_, progress) => {
            if !release(&mut volume, claim, progress) {
                return Ok(());
            }
        }
    }
    (volume.modify_index, volume.modify_time) = (txn.index, change.now);
    txn.put_csi_volume(volume);
    Ok(())
}

/// Adds a claim. Returns false if the allocation has it already.
fn take(txn: &Txn, volume: &mut CsiVolume, claim: &CsiVolumeClaim, writes: bool) -> Result<bool, Refusal> {
    let alloc = &claim.allocation_id;
    let runs = txn.store.state().alloc(alloc).is_some_and(|a| {
        !a.alloc.client_terminal() && a.alloc.node_id == claim.node_id && a.alloc.namespace == volume.namespace
    });
    if !runs {
        return Err(Refusal::CsiAllocEnded { alloc: alloc.clone() });
    }
    if volume.past_claims.contains_key(alloc) {
        return Err(Refusal::CsiClaimReleasing { id: volume.id.clone(), alloc: alloc.clone() });
    }
    if volume.write_claims.contains_key(alloc) || !writes && volume.read_claims.contains_key(alloc) {
        return Ok(false);
    }
    let registered =
        |c: &CsiVolumeCapability| c.access_mode == claim.access_mode && c.attachment_mode == claim.attachment_mode;
    let access = CsiAccess::of_mode(&claim.access_mode);
    let Some(access) = access.filter(|_| volume.requested_capabilities.iter().any(registered)) else {
        return Err(Refusal::CsiCapability { id: volume.id.clone() });
    };
    if !admits(txn, volume, claim, access, writes) {
        return Err(Refusal::CsiClaimExhausted { id: volume.id.clone() });
    }
    volume.access_mode.clone_from(&claim.access_mode);
    volume.attachment_mode.clone_from(&claim.attachment_mode);
    let (claims, allocs) = if writes {
        (&mut volume.write_claims, &mut volume.write_allocs)
    } else {
        (&mut volume.read_claims, &mut volume.read_allocs)
    };
    claims.insert(alloc.clone(), claim.clone());
    allocs.insert(alloc.clone(), None);
    Ok(true)
}

/// Whether the access mode of a claim admits it besides the others, which have to have the same modes.
fn admits(txn: &Txn, volume: &CsiVolume, claim: &CsiVolumeClaim, access: CsiAccess, writes: bool) -> bool {
    let same_access = volume.access_mode.is_unset() || volume.access_mode == claim.access_mode;
    let same_attachment = volume.attachment_mode.is_empty() || volume.attachment_mode == claim.attachment_mode;
    if volume.in_use() && !(same_access && same_attachment) {
        return false;
    }
    // Claims of older snapshots may have no node: it is that of the allocation, if there still is one.
    let on_node = |alloc: &String| match volume.claim_of(alloc) {
        Some(c) if !c.node_id.is_empty() => c.node_id == claim.node_id,
        _ => txn.store.state().alloc(alloc).is_some_and(|a| a.alloc.node_id == claim.node_id),
    };
    if access.one_node() && !volume.claiming().all(on_node) {
        return false;
    }
    if !writes {
        return true;
    }
    let past = volume.past_claims.values().filter(|c| c.purpose() == Some(CsiClaimMode::Write));
    let writers = volume.write_allocs.keys().chain(volume.write_claims.keys()).chain(past.map(|c| &c.allocation_id));
    let others: std::collections::BTreeSet<&String> = writers.filter(|w| **w != claim.allocation_id).collect();
    access.writers().is_none_or(|most| others.len() < most)
}

/// Moves the release of a claim on, never back. Returns false if it is there already, or if there is no such claim.
fn release(volume: &mut CsiVolume, claim: &CsiVolumeClaim, progress: CsiClaimState) -> bool {
    let alloc = &claim.allocation_id;
    if !volume.claiming().any(|id| id == alloc) {
        return false;
    }
    if volume.past_claims.get(alloc).and_then(CsiVolumeClaim::progress).is_some_and(|at| at >= progress) {
        return false;
    }
    // What was claimed counts, not what the caller says of it.
    let stored = volume.claim_of(alloc).cloned().unwrap_or_else(|| CsiVolumeClaim {
        mode: if volume.write_allocs.contains_key(alloc) { CsiClaimMode::Write } else { CsiClaimMode::Read }.number(),
        access_mode: volume.access_mode.clone(),
        attachment_mode: volume.attachment_mode.clone(),
        ..claim.clone()
    });
    let mut past = CsiVolumeClaim { state: progress.number(), ..stored };
    if past.external_node_id.is_empty() {
        past.external_node_id.clone_from(&claim.external_node_id);
    }
    volume.past_claims.insert(alloc.clone(), past);
    true
}

/// Removes a claim. Returns false if there is none.
fn free(volume: &mut CsiVolume, alloc: &str) -> bool {
    if !volume.claiming().any(|id| id == alloc) {
        return false;
    }
    volume.read_claims.remove(alloc);
    volume.write_claims.remove(alloc);
    volume.past_claims.remove(alloc);
    volume.read_allocs.remove(alloc);
    volume.write_allocs.remove(alloc);
    if !volume.in_use() {
        (volume.access_mode, volume.attachment_mode) = Default::default();
    }
    true
}

#[cfg(test)]
#[path = "csi_tests.rs"]
mod tests;
