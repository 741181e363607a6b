//! Nodes (`docs/spec/server.md §9`, `§12.1`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::txn::{Change, Txn, Unblock};
use super::{csi_plugin, volume};
use crate::fsm::node_evals::{IDENTITY_REVOKED, cluster_event};
use encamp_model::*;
use encamp_ops::{DrainUpdate, NodeDrain, NodeRegister, NodeRevoke, NodeStatusChange, Refusal};
use encamp_state::store::revocations::secret_hash;
use encamp_state::{StateStore, Table};

/// The number of retained events per node.
const EVENTS_KEPT: usize = 10;
const SECOND_NANOS: i64 = 1_000_000_000;
/// The number of refused secrets that are kept per node. A registration with an older one is refused as well: with any
/// secret that is not the stored one, it needs an introduction token.
const REFUSED_SECRETS: usize = 16;
/// The number of revocations from which on the oldest one of a removed node is dropped (`docs/spec/server.md §9.8`).
const REVOCATIONS_KEPT: usize = 10_000;

fn stored(txn: &Txn, id: &str) -> Result<Node, Refusal> {
    txn.store.state().node(id).map(|n| Node::clone(&n.node)).ok_or(Refusal::NodeNotFound)
}

fn add_event(node: &mut Node, event: &NodeEvent, index: u64) {
    node.events.push(NodeEvent { create_index: index, ..event.clone() });
    let surplus = node.events.len().saturating_sub(EVENTS_KEPT);
    node.events.drain(..surplus);
}

/// Registers a node (`docs/spec/server.md §9.4`).
pub(crate) fn register(txn: &mut Txn, r: &NodeRegister) -> Result<(), Refusal> {
    let index = txn.index;
    let mut node = r.node.clone();
    // A registration may have been under way when the identity was revoked.
    if txn.store.is_revoked_secret(&node.secret_id) {
        return Err(Refusal::NodeRevoked);
    }
    match txn.store.state().node(&node.id).map(|n| n.node.clone()) {
        Some(old) => {
            node.create_index = old.create_index;
            if node.identity_signing_key_id.is_empty() {
                node.identity_signing_key_id = old.identity_signing_key_id.clone();
            }
            node.events = old.events.clone();
            node.scheduling_eligibility = old.scheduling_eligibility.clone();
            node.drain_strategy = old.drain_strategy.clone();
            node.drain = old.drain;
            node.last_drain = old.last_drain.clone();
            node.last_missed_heartbeat_index = old.last_missed_heartbeat_index.max(node.last_missed_heartbeat_index);
            node.last_alloc_update_index = old.last_alloc_update_index.max(node.last_alloc_update_index);
            note_status(&mut node, &old.status, index);
            if old.status == NodeStatus::Down {
                add_event(&mut node, &cluster_event("Node re-registered", r.now), index);
            }
        }
        None => {
            node.create_index = index;
            node.events.clear();
            add_event(&mut node, &cluster_event("Node registered", r.now), index);
        }
    }
    node.modify_index = index;
    if r.create_pool && !node.node_pool.is_empty() && txn.store.state().node_pool(&node.node_pool).is_none() {
        let pool =
            NodePool { name: node.node_pool.clone(), create_index: index, modify_index: index, ..Default::default() };
        let pool = Arc::new(pool);
        txn.store.put_node_pool(pool.clone());
        txn.touch(Table::NodePools);
        txn.changes.push(Change::NodePool(pool.name.clone(), Some(pool)));
    }
    if node.status == NodeStatus::Ready {
        txn.unblocks.push(Unblock { class: node.computed_class.clone(), node: None });
    }
    volume::follow(txn, &node);
    csi_plugin::follow_node(txn, &node, r.now);
    txn.put_node(node);
    Ok(())
}

/// Records when contact was lost, as a log index.
fn note_status(node: &mut Node, old: &NodeStatus, index: u64) {
    let lost = |s: &NodeStatus| matches!(s, NodeStatus::Down | NodeStatus::Disconnected);
    if lost(&node.status) && !lost(old) {
        node.last_missed_heartbeat_index = index;
    } else if node.status == NodeStatus::Ready && *old != NodeStatus::Ready {
        node.last_missed_heartbeat_index = 0;
    }
}

/// Removes nodes.
pub(crate) fn deregister(txn: &mut Txn, ids: &[String]) -> Result<(), Refusal> {
    for id in ids {
        let node = stored(txn, id)?;
        if node.gc_volumes_on_node_gc {
            let volumes: Vec<_> =
                txn.store.state().host_volumes().filter(|v| v.node_id == *id).map(|v| v.id.clone()).collect();
            volumes.iter().for_each(|v| txn.remove_host_volume(v));
        }
        csi_plugin::forget_node(txn, id);
        txn.store.remove_node(id);
        txn.touch(Table::Nodes);
        txn.changes.push(Change::Node(id.clone(), None));
    }
    Ok(())
}

/// Sets the status of a node (`docs/spec/server.md §9.4`).
pub(crate) fn status(txn: &mut Txn, s: &NodeStatusChange) -> Result<(), Refusal> {
    let mut node = stored(txn, &s.id)?;
    if s.status != NodeStatus::Down && is_revoked(txn.store, &node) {
        return Err(Refusal::NodeRevoked);
    }
    let old = std::mem::replace(&mut node.status, s.status.clone());
    note_status(&mut node, &old, txn.index);
    if !s.identity_key_id.is_empty() {
        node.identity_signing_key_id = s.identity_key_id.clone();
    }
    node.status_updated_at = s.updated_at / SECOND_NANOS;
    node.modify_index = txn.index;
    if let Some(e) = &s.event {
        add_event(&mut node, e, txn.index);
    }
    if node.status == NodeStatus::Ready {
        txn.unblock(&node.id);
    }
    txn.put_node_record(node);
    Ok(())
}

/// Sets the statuses of several nodes; nodes that do not exist, or whose identity was revoked, are skipped.
pub(crate) fn statuses(txn: &mut Txn, statuses: &[NodeStatusChange]) -> Result<(), Refusal> {
    for s in statuses {
        match status(txn, s) {
            Ok(()) | Err(Refusal::NodeNotFound | Refusal::NodeRevoked) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Whether the secret with which a node is registered was revoked.
pub(crate) fn is_revoked(store: &StateStore, node: &Node) -> bool {
    store.node_revocation(&node.id).is_some() && store.is_revoked_secret(&node.secret_id)
}

/// Revokes the identity of a node: its secret is refused for good, and it is down (`docs/spec/server.md §9.8`).
pub(crate) fn revoke(txn: &mut Txn, r: &NodeRevoke) -> Result<(), Refusal> {
    let mut node = stored(txn, &r.id)?;
    let mut revocation = txn.store.node_revocation(&r.id).map(|old| NodeRevocation::clone(old)).unwrap_or_default();
    if revocation.node_id.is_empty() {
        revocation.node_id = r.id.clone();
        revocation.create_index = txn.index;
    }
    let hash = secret_hash(&node.secret_id);
    if !node.secret_id.is_empty() && !revocation.secret_hashes.contains(&hash) {
        revocation.secret_hashes.push(hash);
    }
    let surplus = revocation.secret_hashes.len().saturating_sub(REFUSED_SECRETS);
    revocation.secret_hashes.drain(..surplus);
    // Clocks of leaders differ: a revocation never takes back what an earlier one refused.
    revocation.revoked_at = revocation.revoked_at.max(r.revoked_at);
    revocation.modify_index = txn.index;
    txn.store.put_node_revocation(Arc::new(revocation));
    drop_oldest_revocation(txn.store);
    txn.other(Table::NodeRevocations);
    let old = std::mem::replace(&mut node.status, NodeStatus::Down);
    note_status(&mut node, &old, txn.index);
    node.status_description = IDENTITY_REVOKED.into();
    node.identity_signing_key_id.clear();
    add_event(&mut node, &r.event, txn.index);
    node.status_updated_at = r.revoked_at / SECOND_NANOS;
    node.modify_index = txn.index;
    txn.put_node_record(node);
    Ok(())
}

/// Drops the oldest revocation of a removed node, if there are too many.
fn drop_oldest_revocation(store: &mut StateStore) {
    if store.node_revocations().len() <= REVOCATIONS_KEPT {
        return;
    }
    let removed = store.node_revocations().filter(|r| store.state().node(&r.node_id).is_none());
    if let Some(id) = removed.min_by_key(|r| r.modify_index).map(|r| r.node_id.clone()) {
        store.remove_node_revocation(&id);
    }
}

/// Takes the revocations of a store over into a restored one: an older snapshot does not bring stolen secrets back.
pub(crate) fn keep_revocations(from: &StateStore, to: &mut StateStore) {
    for revocation in from.node_revocations() {
        let mut kept = NodeRevocation::clone(revocation);
        if let Some(restored) = to.node_revocation(&kept.node_id) {
            kept.revoked_at = kept.revoked_at.max(restored.revoked_at);
            let others = restored.secret_hashes.iter().filter(|h| !revocation.secret_hashes.contains(h)).cloned();
            kept.secret_hashes.extend(others);
        }
        to.put_node_revocation(Arc::new(kept));
    }
}

/// Starts, updates or ends drains (`docs/spec/server.md §12.1`).
pub(crate) fn drain(txn: &mut Txn, d: &NodeDrain) -> Result<(), Refusal> {
    for (id, update) in &d.nodes {
        let mut node = stored(txn, id)?;
        if update.complete && node.drain_strategy.is_none() {
            // The drain was cancelled before it could complete.
            continue;
        }
        if let Some(e) = d.events.get(id) {
            add_event(&mut node, e, txn.index);
        }
        set_drain(txn, node, update, d.updated_at);
    }
    Ok(())
}

fn set_drain(txn: &mut Txn, mut node: Node, update: &DrainUpdate, now: i64) {
    // Drain records use full seconds.
    let now_time = Time::from_unix_nanos(now - now.rem_euclid(SECOND_NANOS));
    let was_draining = node.drain_strategy.is_some();
    let was_ineligible = node.scheduling_eligibility == NodeEligibility::Ineligible;
    match &update.strategy {
        Some(strategy) => {
            let mut strategy = strategy.clone();
            if let Some(running) = &node.drain_strategy {
                strategy.started_at = running.started_at;
            }
            if !was_draining {
                node.last_drain = Some(DrainMetadata {
                    started_at: now_time,
                    updated_at: now_time,
                    status: DrainStatus::Draining,
                    ..Default::default()
                });
            }
            node.drain_strategy = Some(strategy);
            node.scheduling_eligibility = NodeEligibility::Ineligible;
        }
        None => {
            node.drain_strategy = None;
            if update.mark_eligible {
                node.scheduling_eligibility = NodeEligibility::Eligible;
                if was_ineligible {
                    txn.unblock(&node.id);
                }
            }
        }
    }
    node.drain = node.drain_strategy.is_some();
    if was_draining || update.strategy.is_some() {
        let last = node.last_drain.get_or_insert_default();
        last.updated_at = now_time;
        last.status = match (&update.strategy, update.complete) {
            (Some(_), _) => DrainStatus::Draining,
            (None, true) => DrainStatus::Complete,
            (None, false) => DrainStatus::Canceled,
        };
        if !update.meta.is_empty() {
            last.meta = update.meta.clone();
        }
        if !update.accessor_id.is_empty() {
            last.accessor_id = update.accessor_id.clone();
        }
    }
    node.status_updated_at = now / SECOND_NANOS;
    node.modify_index = txn.index;
    txn.put_node_record(node);
}

/// Sets the scheduling eligibility of a node.
pub(crate) fn eligibility(
    txn: &mut Txn,
    id: &str,
    eligibility: &NodeEligibility,
    event: Option<&NodeEvent>,
    now: i64,
) -> Result<(), Refusal> {
    let mut node = stored(txn, id)?;
    if node.drain_strategy.is_some() && *eligibility == NodeEligibility::Eligible {
        return Err(Refusal::NodeDraining);
    }
    let old = std::mem::replace(&mut node.scheduling_eligibility, eligibility.clone());
    if old == NodeEligibility::Ineligible && *eligibility == NodeEligibility::Eligible {
        txn.unblock(&node.id);
    }
    if let Some(e) = event {
        add_event(&mut node, e, txn.index);
    }
    node.status_updated_at = now / SECOND_NANOS;
    node.modify_index = txn.index;
    txn.put_node_record(node);
    Ok(())
}

/// Makes a node that rejected too many plans ineligible (`docs/spec/server.md §7.7`).
pub(crate) fn mark_ineligible(txn: &mut Txn, id: &str, event: &NodeEvent) {
    let Ok(mut node) = stored(txn, id) else { return };
    node.scheduling_eligibility = NodeEligibility::Ineligible;
    add_event(&mut node, event, txn.index);
    node.modify_index = txn.index;
    txn.put_node_record(node);
}

/// Adds events reported by clients; the modify indexes of the nodes do not change.
pub(crate) fn events(txn: &mut Txn, events: &BTreeMap<String, Vec<NodeEvent>>) -> Result<(), Refusal> {
    for (id, list) in events {
        let mut node = stored(txn, id)?;
        list.iter().for_each(|e| add_event(&mut node, e, txn.index));
        txn.put_node_record(node);
    }
    Ok(())
}
