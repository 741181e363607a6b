//! Calls of node agents (`docs/spec/server.md §9`, `§11`): registration, heartbeats, assigned allocations, allocation
//! updates.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::drain::{DrainRequest, set_drain};
use super::node_answer::NodeAnswer;
use super::node_auth::{self, NodeProof, authenticate, authenticate_in};
use super::node_identity;
use super::node_status::{self, set_status};
use super::status_decision::decide_status;
use crate::Server;
use crate::error::Error;
use crate::keyring::KEY_WAIT;
use crate::leading::Leading;
use crate::server_state::ServerState;
use crate::storage::watch::WatchKey;
use encamp_host::ids;
use encamp_model::capability::CapabilityLevel;
use encamp_model::*;
use encamp_ops::{NodeRegister, Operation};
use encamp_state::{State, StateStore, Table};

/// Maximum number of allocation updates in one call; nodes with more updates make several calls.
pub(crate) const MOST_REPORTS: usize = 10_000;
/// Maximum number of node events in one call.
pub(crate) const MOST_EVENTS: usize = 100;
/// Maximum number of services in one call.
pub(crate) const MOST_SERVICES: usize = 1_000;
/// Maximum number of registered services per allocation.
pub(crate) const MOST_SERVICES_OF_ALLOC: usize = 512;
/// Maximum number of requested allocations in one call.
pub(crate) const MOST_IDS: usize = 10_000;
/// Maximum length of a node's ID, name or datacenter, in bytes.
const LONGEST_NAME: usize = 256;

fn at_most<T>(list: &[T], most: usize, what: &str) -> Result<(), Error> {
    let count = list.len();
    if count <= most {
        Ok(())
    } else {
        Err(Error::bad(format!("{count} {what} in one call; at most {most} are accepted")))
    }
}

/// Refuses nodes whose builds are more than one capability level older or newer. Builds of the first level tell none.
fn check_level(node: &Node) -> Result<(), Error> {
    let own = encamp_host::capability::own();
    let level = match node.attributes.get(CapabilityLevel::ATTRIBUTE) {
        None => CapabilityLevel::FIRST,
        Some(text) => {
            text.parse().map_err(|e| Error::bad(format!("{} is {text:?}: {e}", CapabilityLevel::ATTRIBUTE)))?
        }
    };
    if own.fits_node(level) {
        return Ok(());
    }
    let advice = if level < own { "install a newer build on the node" } else { "upgrade the servers first" };
    Err(Error::bad(format!(
        "the node's build has capability level {level}, and the servers have level {own}: they may differ by one; {advice}"
    )))
}

/// Registers a node or updates its registration. `held` is its current identity, or the token that introduces it; an
/// identity is returned if it needs one.
///
/// # Errors
/// A field is missing, the secret is not that of the node or was revoked, a required introduction is missing, or there
/// is no leader.
pub async fn register(server: &Leading, mut node: Node, held: &str) -> Result<NodeAnswer, Error> {
    server.wait_ready().await?;
    for (missing, what) in [
        (node.id.is_empty(), "missing node ID for client registration"),
        (node.datacenter.is_empty(), "missing datacenter for client registration"),
        (node.name.is_empty(), "missing node name for client registration"),
        (node.secret_id.is_empty(), "missing node secret ID for client registration"),
        (node.attributes.is_empty(), "missing attributes for client registration"),
    ] {
        if missing {
            return Err(Error::internal(what));
        }
    }
    for (length, what) in [
        (node.id.len(), "ID"),
        (node.name.len(), "name"),
        (node.datacenter.len(), "datacenter"),
        (node.secret_id.len(), "secret ID"),
        (node.node_pool.len(), "node pool"),
        (node.node_class.len(), "class"),
    ] {
        if length > LONGEST_NAME {
            return Err(Error::bad(format!("the node's {what} is longer than {LONGEST_NAME} bytes")));
        }
    }
    check_level(&node)?;
    if node.status.is_unset() {
        node.status = NodeStatus::Initializing;
    }
    if !node.status.is_known() {
        return Err(Error::internal("invalid status for node"));
    }
    if node.scheduling_eligibility.is_unset() {
        node.scheduling_eligibility = NodeEligibility::Eligible;
    }
    if node.node_pool.is_empty() {
        node.node_pool = "default".into();
    }
    let now = ids::now();
    node.status_updated_at = now / SECOND;
    node.computed_class = node.compute_class();
    node.drain = false;
    let before = server.snapshot().state().node(&node.id).map(|n| n.node.clone());
    node_auth::check_registration(server, before.as_deref(), &node, held)?;
    let (id, down) = (node.id.clone(), node.status == NodeStatus::Down);
    // The first leader of a cluster makes its first key while nodes register.
    server.keyring().wait_active(KEY_WAIT).await;
    let identity = node_identity::of_node(server, &node, held);
    node.identity_signing_key_id = identity.as_ref().map_or_else(String::new, |(_, key)| key.clone());
    let op = Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: true, now }));
    let changed = node_status::change(server, op).await?;
    let signed_identity = identity.map(|(jwt, _)| jwt).unwrap_or_default();
    let mut answer = NodeAnswer { signed_identity, ..NodeAnswer::of(changed) };
    if !down {
        answer.heartbeat_ttl = heartbeat(server, &id)?;
        come_again_for_identity(server, &mut answer);
    }
    Ok(answer.completed(server, &id))
}

/// Shortens the TTL if a node needs an identity and a new cluster has no signing key yet.
fn come_again_for_identity(server: &ServerState, answer: &mut NodeAnswer) {
    if answer.signed_identity.is_empty() && server.keyring().active_id().is_none() {
        answer.heartbeat_ttl = answer.heartbeat_ttl.min(SECOND);
    }
}

fn heartbeat(server: &Leading, id: &str) -> Result<i64, Error> {
    Ok(server.queues().heartbeats().reset(id, ids::steady(), ids::random())?)
}

/// Whether the state of this server contains a node that proves itself like this. The state may be behind the leader.
pub fn knows(server: &ServerState, id: &str, proof: &NodeProof) -> bool {
    !id.is_empty() && authenticate(server, id, proof).is_ok()
}

/// Whether a registration would create a new node or a new node pool.
pub fn is_new(server: &ServerState, node: &Node) -> bool {
    let snapshot = server.snapshot();
    let pool = node.node_pool.as_str();
    snapshot.state().node(&node.id).is_none() || (!pool.is_empty() && snapshot.state().node_pool(pool).is_none())
}

/// Handles a heartbeat (`docs/spec/server.md §9.3`). `held` is the node's current identity, empty if it requests a new
/// one.
///
/// # Errors
/// The node or status is unknown, or there is no leader.
pub async fn update_status(
    server: &Leading,
    id: &str,
    proof: &NodeProof,
    held: &str,
    status: NodeStatus,
) -> Result<NodeAnswer, Error> {
    server.wait_ready().await?;
    let node = authenticate(server, id, proof)?;
    if !status.is_known() {
        return Err(Error::internal("invalid status for node"));
    }
    let (live, pool) = {
        let snapshot = server.snapshot();
        let live = snapshot.state().node(id).is_some_and(|n| n.allocs.iter().any(|a| !a.phase.terminal()));
        (live, snapshot.state().node_pool(&node.node_pool).is_some())
    };
    let decision = decide_status(&node, status, None, live, pool, ids::now());
    let (signed_identity, key) = node_identity::of_node(server, &node, held).unwrap_or_default();
    let mut answer = NodeAnswer { signed_identity: signed_identity.clone(), ..Default::default() };
    let down = decision.status == NodeStatus::Down;
    if decision.changes(&node) || (!key.is_empty() && key != node.identity_signing_key_id) {
        let written = set_status(server, &node, decision.status, decision.event, key).await;
        if written.is_err() && !down {
            // A node that sends heartbeats is not lost, although its status cannot be written now: the disk may be
            // full.
            let _ = heartbeat(server, id);
        }
        answer = NodeAnswer { signed_identity, ..NodeAnswer::of(written?) };
    } else if down {
        let made = node_status::evaluate(server, &node).await?;
        (answer.eval_create_index, answer.eval_ids) = (made.index, made.eval_ids);
    }
    if !down {
        answer.heartbeat_ttl = heartbeat(server, id)?;
        come_again_for_identity(server, &mut answer);
    }
    Ok(answer.completed(server, id))
}

/// The allocations of a node: AllocModifyIndex by allocation ID, and the index of the response. Waits until the index
/// exceeds `min_index`.
///
/// # Errors
/// The node is unknown, or the proof is wrong.
pub async fn client_allocs(
    server: &Server,
    id: &str,
    proof: &NodeProof,
    min_index: u64,
    wait: Duration,
) -> Result<(BTreeMap<String, u64>, u64), Error> {
    let deadline = tokio::time::Instant::now() + wait;
    // The node's own row changes when its identity is revoked.
    let keys = vec![WatchKey::NewsOfNode(id.to_string()), WatchKey::Row(Table::Nodes, id.to_string())];
    let read = server.store().read_newer(keys, min_index, deadline, |store| {
        authenticate_in(server, store, id, proof)?;
        // The list is only built from the last state that was read.
        Ok::<_, Error>((newest(store, id), store.snapshot()))
    });
    let (mut index, mut snapshot) = read.await?;
    if index > min_index {
        let due = server.node_news_due();
        if !due.is_zero() {
            drop(snapshot);
            tokio::time::sleep(due).await;
            snapshot = server.snapshot();
            index = newest(&snapshot, id);
        }
    }
    // The identity may have expired or been revoked during the wait.
    authenticate_in(server, &snapshot, id, proof)?;
    let allocs = snapshot.state().node(id).into_iter().flat_map(|n| &n.allocs);
    Ok((allocs.map(|a| (a.alloc.id.to_string(), a.alloc.alloc_modify_index)).collect(), index))
}

/// The index of the last write that affects a node's allocations.
fn newest(store: &StateStore, id: &str) -> u64 {
    let node = store.state().node(id);
    let newest = node.and_then(|n| n.allocs.iter().map(|a| a.alloc.modify_index).max());
    newest.unwrap_or_else(|| store.index_of(Table::Allocs).max(1))
}

/// Full allocations, from a state newer than `min_index`; unknown IDs are left out.
///
/// # Errors
/// The state did not reach the index in time, the node is unknown, or the proof is wrong.
pub async fn allocs(
    server: &ServerState,
    id: &str,
    proof: &NodeProof,
    ids: &[String],
    min_index: u64,
) -> Result<(Vec<Arc<Allocation>>, u64), Error> {
    at_most(ids, MOST_IDS, "allocations")?;
    let mut applied = server.store().follow_applied();
    let there = tokio::time::timeout(Duration::from_secs(5), applied.wait_for(|a| *a >= min_index)).await;
    if !matches!(there, Ok(Ok(_))) {
        return Err(Error::internal(format!("timed out waiting for index {min_index}")));
    }
    authenticate(server, id, proof)?;
    let snapshot = server.snapshot();
    let found = ids.iter().filter_map(|wanted| for_node(snapshot.state(), id, wanted)).collect();
    Ok((found, snapshot.index_of(Table::Allocs)))
}

/// An allocation as far as the node may see it: its own allocations in full, and of those that they replace only the
/// statuses, because it waits for their end. Nothing else.
fn for_node(state: &State, node: &str, wanted: &str) -> Option<Arc<Allocation>> {
    let alloc = &state.alloc(wanted)?.alloc;
    if alloc.node_id == node {
        return Some(alloc.clone());
    }
    let own = &state.node(node)?.allocs;
    own.iter().any(|a| a.alloc.previous_allocation == wanted).then(|| {
        Arc::new(Allocation {
            id: alloc.id.clone(),
            namespace: alloc.namespace.clone(),
            node_id: alloc.node_id.clone(),
            desired_status: alloc.desired_status.clone(),
            client_status: alloc.client_status.clone(),
            alloc_modify_index: alloc.alloc_modify_index,
            modify_index: alloc.modify_index,
            ..Allocation::default()
        })
    })
}

/// The stored record of the calling node; `None` if it was removed.
///
/// # Errors
/// The proof is wrong.
pub fn own_node(server: &ServerState, id: &str, proof: &NodeProof) -> Result<Option<Arc<Node>>, Error> {
    let known = server.snapshot().state().node(id).is_some();
    known.then(|| authenticate(server, id, proof)).transpose()
}

/// Handles the allocation updates of a node (`docs/spec/server.md §11`). Returns the index.
///
/// # Errors
/// See the texts of `docs/spec/server.md §11`; an allocation belongs to another node.
pub async fn update_allocs(
    server: &Server,
    id: &str,
    proof: &NodeProof,
    allocs: Vec<Allocation>,
) -> Result<u64, Error> {
    server.wait_ready().await?;
    if allocs.is_empty() {
        return Err(Error::internal("must update at least one allocation"));
    }
    if id.is_empty() {
        return Err(Error::internal("missing node ID"));
    }
    let known = stored_reports(server, &server.snapshot(), id, proof, allocs)?;
    if known.is_empty() {
        return Ok(server.snapshot().latest_index());
    }
    server.alloc_updates().add(server, known).await
}

/// The updates of allocations that are stored; those that were garbage-collected meanwhile are left out.
///
/// # Errors
/// See [`update_allocs`].
fn stored_reports(
    server: &ServerState,
    snapshot: &StateStore,
    id: &str,
    proof: &NodeProof,
    mut allocs: Vec<Allocation>,
) -> Result<Vec<Allocation>, Error> {
    let Some(node) = snapshot.state().node(id).map(|n| &n.node) else {
        return Err(Error::internal(format!("node {id} not found")));
    };
    if matches!(node.status, NodeStatus::Down | NodeStatus::Disconnected) {
        let text = format!("node {id} is not allowed to update allocs while in status {}", node.status);
        return Err(Error::internal(text));
    }
    node_auth::check(server, snapshot, node, proof)?;
    at_most(&allocs, MOST_REPORTS, "reports")?;
    let placed = |a: &Allocation| snapshot.state().alloc(&a.id).map(|e| e.alloc.node_id.as_str());
    if allocs.iter().filter_map(placed).any(|at| at != id) {
        return Err(Error::permission_denied());
    }
    allocs.retain(|a| placed(a).is_some());
    Ok(allocs)
}

/// Adds node events. Returns the index.
///
/// # Errors
/// The node is unknown, the proof is wrong, or there is no leader.
pub async fn emit_events(server: &Leading, id: &str, proof: &NodeProof, events: Vec<NodeEvent>) -> Result<u64, Error> {
    server.wait_ready().await?;
    authenticate(server, id, proof)?;
    at_most(&events, MOST_EVENTS, "events")?;
    let events = BTreeMap::from([(id.to_string(), events)]);
    Ok(server.commit(Operation::NodeEvents { events }).await?.0)
}

/// Registers services of a node's allocations. Returns the index.
///
/// # Errors
/// The node is unknown, the proof is wrong, a service or an allocation belongs to another node, or there is no leader.
pub async fn upsert_services(
    server: &Leading,
    id: &str,
    proof: &NodeProof,
    services: Vec<ServiceRegistration>,
) -> Result<u64, Error> {
    server.wait_ready().await?;
    authenticate(server, id, proof)?;
    at_most(&services, MOST_SERVICES, "services")?;
    let snapshot = server.snapshot();
    let own = |s: &ServiceRegistration| {
        let alloc = snapshot.state().alloc(&s.alloc_id).is_some_and(|a| a.alloc.node_id == id);
        s.node_id == id && alloc && snapshot.service(&s.namespace, &s.id).is_none_or(|old| old.node_id == id)
    };
    if !services.iter().all(own) {
        return Err(Error::permission_denied());
    }
    let mut allocs: BTreeMap<&str, usize> = BTreeMap::new();
    for s in services.iter().filter(|s| snapshot.service(&s.namespace, &s.id).is_none()) {
        *allocs.entry(&s.alloc_id).or_default() += 1;
    }
    if allocs.iter().any(|(a, new)| snapshot.services_of_alloc(a).count() + new > MOST_SERVICES_OF_ALLOC) {
        let text = format!("an allocation has at most {MOST_SERVICES_OF_ALLOC} registered services");
        return Err(Error::bad(text));
    }
    Ok(server.commit(Operation::ServiceUpsert { services }).await?.0)
}

/// Removes a service registration of one of a node's allocations. Returns the index.
///
/// # Errors
/// The node is unknown, the proof is wrong, the service does not exist, or there is no leader.
pub async fn delete_service(
    server: &Leading,
    id: &str,
    proof: &NodeProof,
    namespace: &str,
    service: &str,
) -> Result<u64, Error> {
    server.wait_ready().await?;
    authenticate(server, id, proof)?;
    if server.snapshot().service(namespace, service).is_some_and(|s| s.node_id != id) {
        return Err(Error::permission_denied());
    }
    let id = (namespace.to_string(), service.to_string());
    Ok(server.commit(Operation::ServiceDelete { id }).await?.0)
}

/// Drains a node that is about to leave, on its own request. Returns the index.
///
/// # Errors
/// The node is unknown, the proof is wrong, or there is no leader.
pub async fn drain_self(
    server: &Leading,
    id: &str,
    proof: &NodeProof,
    strategy: DrainStrategy,
    meta: BTreeMap<String, String>,
) -> Result<u64, Error> {
    server.wait_ready().await?;
    authenticate(server, id, proof)?;
    let request = DrainRequest { strategy: Some(strategy), meta, ..Default::default() };
    Ok(set_drain(server, id, request).await?.index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_sees_only_the_status_of_an_allocation_that_its_own_replaces() {
        let mut state = State::new();
        for id in ["one", "other"] {
            state.upsert_node(Arc::new(Node { id: id.into(), ..Node::default() }));
        }
        let alloc = |id: &str, node: &str, previous: &str| {
            Arc::new(Allocation {
                id: id.into(),
                node_id: node.into(),
                job_id: "web".into(),
                client_status: ClientStatus::Running,
                previous_allocation: previous.into(),
                ..Allocation::default()
            })
        };
        state.upsert_allocs([alloc("old", "one", ""), alloc("else", "one", ""), alloc("new", "other", "old")]);
        let read = |id: &str| for_node(&state, "other", id);
        assert_eq!(read("new").map(|a| a.job_id.to_string()).as_deref(), Some("web"), "its own");
        let old = read("old").expect("the one it replaces");
        assert_eq!((&old.client_status, old.job_id.as_str()), (&ClientStatus::Running, ""));
        assert!(read("else").is_none() && read("none").is_none());
    }
}
