//! What node agents ask (`docs/spec/server.md §9`, `§11`): registration, heartbeats, allocations to run, reports.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::identity;
use crate::Server;
use crate::error::Error;
use crate::leadership::loops::drain::set::{DrainRequest, set_drain};
use crate::nodes::node_evals::{decide_status, is_status, node_status::*};
use crate::nodes::node_status::{self, Changed, set_status};
use crate::storage::watch::WatchKey;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::{NodeRegister, Operation};
use encamp_state::{State, StateStore, Table};

/// Most reports in one call; nodes that have more make several calls.
pub(crate) const MOST_REPORTS: usize = 10_000;
/// Most events of a node in one call.
pub(crate) const MOST_EVENTS: usize = 100;
/// Most services in one call.
pub(crate) const MOST_SERVICES: usize = 1_000;
/// Most registered services of one allocation.
pub(crate) const MOST_SERVICES_OF_ALLOC: usize = 512;
/// Most allocations that are asked for in one call.
pub(crate) const MOST_IDS: usize = 10_000;
/// Most identities that are asked for in one call.
pub(crate) const MOST_IDENTITIES: usize = 1_000;
/// Longest ID, name or datacenter of a node, in bytes.
const LONGEST_NAME: usize = 256;

fn at_most<T>(list: &[T], most: usize, what: &str) -> Result<(), Error> {
    let count = list.len();
    if count <= most {
        Ok(())
    } else {
        Err(Error::bad(format!("{count} {what} in one call; at most {most} are taken")))
    }
}

/// The answer to a registration, a heartbeat, or another change of a node.
#[derive(Debug, Clone, Default)]
pub struct NodeAnswer {
    /// When the next heartbeat is due, in nanoseconds.
    pub heartbeat_ttl: i64,
    /// Evaluations that were made.
    pub eval_ids: Vec<String>,
    /// The index they were written at.
    pub eval_create_index: u64,
    /// The node's ModifyIndex, if the change concerns it.
    pub node_modify_index: u64,
    /// How many nodes there are.
    pub num_nodes: usize,
    /// The node's eligibility.
    pub scheduling_eligibility: String,
    /// The index of the write; 0 if nothing was written.
    pub index: u64,
    /// The node's new identity; empty if it may keep the one it has.
    pub signed_identity: String,
}

impl NodeAnswer {
    /// The node was changed.
    pub fn of(changed: Changed) -> NodeAnswer {
        let (index, eval_create_index) = (changed.index, changed.eval_index());
        let eval_ids = changed.eval_ids;
        NodeAnswer { index, node_modify_index: index, eval_ids, eval_create_index, ..Default::default() }
    }

    /// With what is stored now of the nodes.
    pub fn completed(mut self, server: &Server, id: &str) -> NodeAnswer {
        let snapshot = server.snapshot();
        self.num_nodes = snapshot.state().node_index().rows().len();
        if let Some(n) = snapshot.state().node(id) {
            self.scheduling_eligibility = n.node.scheduling_eligibility.clone();
        }
        self
    }
}

/// A node registers or tells what changed. `held`: the identity it has; one that needs a new one gets it.
///
/// # Errors
/// Something is missing, the secret is another node's, or there is no leader.
pub async fn register(server: &Server, mut node: Node, held: &str) -> Result<NodeAnswer, Error> {
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
    for (name, what) in [
        (&node.id, "ID"),
        (&node.name, "name"),
        (&node.datacenter, "datacenter"),
        (&node.secret_id, "secret ID"),
        (&node.node_pool, "node pool"),
        (&node.node_class, "class"),
    ] {
        if name.len() > LONGEST_NAME {
            return Err(Error::bad(format!("the node's {what} is longer than {LONGEST_NAME} bytes")));
        }
    }
    if node.status.is_empty() {
        node.status = INIT.into();
    }
    if !is_status(&node.status) {
        return Err(Error::internal("invalid status for node"));
    }
    if node.scheduling_eligibility.is_empty() {
        node.scheduling_eligibility = "eligible".into();
    }
    if node.node_pool.is_empty() {
        node.node_pool = "default".into();
    }
    let now = ids::now();
    node.status_updated_at = now / SECOND;
    node.computed_class = node.compute_class();
    node.drain = false;
    let before = server.snapshot().state().node(&node.id).map(|n| n.node.clone());
    if before.as_ref().is_some_and(|b| !b.secret_id.is_empty() && b.secret_id != node.secret_id) {
        return Err(Error::internal("node secret ID does not match. Not registering node."));
    }
    if before.is_none() {
        identity::check_introduction(server, &node, held)?;
    }
    let (id, status) = (node.id.clone(), node.status.clone());
    let identity = identity::of_node(server, &node, held);
    node.identity_signing_key_id = identity.as_ref().map_or_else(String::new, |(_, key)| key.clone());
    let op = Operation::NodeRegister(Box::new(NodeRegister { node, create_pool: true, now }));
    let changed = node_status::change(server, op).await?;
    let signed_identity = identity.map_or_else(String::new, |(jwt, _)| jwt);
    let mut answer = NodeAnswer { signed_identity, ..NodeAnswer::of(changed) };
    if status != DOWN {
        answer.heartbeat_ttl = heartbeat(server, &id)?;
        come_again_for_identity(server, &mut answer);
    }
    Ok(answer.completed(server, &id))
}

/// A new cluster has no key to sign with for a moment. Nodes that come then are asked to come again soon.
fn come_again_for_identity(server: &Server, answer: &mut NodeAnswer) {
    if answer.signed_identity.is_empty() && server.keyring().active_id().is_none() {
        answer.heartbeat_ttl = answer.heartbeat_ttl.min(SECOND);
    }
}

fn heartbeat(server: &Server, id: &str) -> Result<i64, Error> {
    let reset = server.queues().heartbeats().reset(id, ids::now(), ids::random());
    reset.map_err(|_| Error::internal("failed to reset heartbeat since server is not leader"))
}

/// Whether the state of this server knows a node by this secret. It may not have heard of the node yet.
pub fn knows(server: &Server, id: &str, secret: &str) -> bool {
    !id.is_empty() && authenticate(server, id, secret).is_ok()
}

/// Whether a registration would make a new node or a new node pool.
pub fn is_new(server: &Server, node: &Node) -> bool {
    let snapshot = server.snapshot();
    let pool = node.node_pool.as_str();
    snapshot.state().node(&node.id).is_none() || (!pool.is_empty() && snapshot.state().node_pool(pool).is_none())
}

/// The node, if the caller is it.
///
/// # Errors
/// Unknown node or wrong secret.
pub fn authenticate(server: &Server, id: &str, secret: &str) -> Result<Arc<Node>, Error> {
    if id.is_empty() {
        return Err(Error::internal("missing node ID for client status update"));
    }
    let snapshot = server.snapshot();
    let node = snapshot.state().node(id).map(|n| n.node.clone()).ok_or_else(|| Error::internal("node not found"))?;
    if node.secret_id != secret {
        return Err(Error::denied("Permission denied"));
    }
    Ok(node)
}

/// A heartbeat (§9.3). `held`: the identity the node has, empty if it wants a new one.
///
/// # Errors
/// Unknown node or status, or there is no leader.
pub async fn update_status(
    server: &Server,
    id: &str,
    secret: &str,
    held: &str,
    status: &str,
) -> Result<NodeAnswer, Error> {
    server.wait_ready().await?;
    let node = authenticate(server, id, secret)?;
    if !is_status(status) {
        return Err(Error::internal("invalid status for node"));
    }
    let snapshot = server.snapshot();
    let live = snapshot.state().node(id).is_some_and(|n| n.allocs.iter().any(|a| !a.phase.terminal()));
    let pool = snapshot.state().node_pool(&node.node_pool).is_some();
    let decision = decide_status(&node, status, None, live, pool, ids::now());
    let (signed_identity, key) = identity::of_node(server, &node, held).unwrap_or_default();
    let mut answer = NodeAnswer { signed_identity: signed_identity.clone(), ..Default::default() };
    if decision.changes(&node) || (!key.is_empty() && key != node.identity_signing_key_id) {
        let written = set_status(server, &node, &decision.status, decision.event.clone(), key).await;
        if written.is_err() && decision.status != DOWN {
            // Who was heard of is not lost, though it can't be written down now: the disk may be full.
            let _ = heartbeat(server, id);
        }
        answer = NodeAnswer { signed_identity, ..NodeAnswer::of(written?) };
    } else if decision.status == DOWN {
        let made = node_status::evaluate(server, &node).await?;
        (answer.eval_create_index, answer.eval_ids) = (made.index, made.eval_ids);
    }
    if decision.status != DOWN {
        answer.heartbeat_ttl = heartbeat(server, id)?;
        come_again_for_identity(server, &mut answer);
    }
    Ok(answer.completed(server, id))
}

/// What a node has to run: AllocModifyIndex by allocation ID, and the index of the answer. Waits until the index
/// exceeds `min_index`.
///
/// # Errors
/// Unknown node or wrong secret.
pub async fn client_allocs(
    server: &Server,
    id: &str,
    secret: &str,
    min_index: u64,
    wait: Duration,
) -> Result<(BTreeMap<String, u64>, u64), Error> {
    authenticate(server, id, secret)?;
    let deadline = tokio::time::Instant::now() + wait;
    let keys = vec![WatchKey::OfNode(id.to_string())];
    let read = server.store().read_newer(keys, min_index, deadline, |store| {
        // The list is made once, of what was read last.
        Ok::<_, Error>((newest(store, id), store.snapshot()))
    });
    let (mut index, mut snapshot) = read.await?;
    if index > min_index {
        let due = server.node_news_due();
        if !due.is_zero() {
            tokio::time::sleep(due).await;
            snapshot = server.snapshot();
            index = newest(&snapshot, id);
        }
    }
    let allocs = snapshot.state().node(id).into_iter().flat_map(|n| &n.allocs);
    Ok((allocs.map(|a| (a.alloc.id.clone(), a.alloc.alloc_modify_index)).collect(), index))
}

/// The index of the last write that concerns a node's allocations.
fn newest(store: &StateStore, id: &str) -> u64 {
    let node = store.state().node(id);
    let newest = node.and_then(|n| n.allocs.iter().map(|a| a.alloc.modify_index).max());
    newest.unwrap_or_else(|| store.index_of(Table::Allocs).max(1))
}

/// Allocations in full, of a state newer than `min_index`; unknown ones are left out.
///
/// # Errors
/// The state did not get there in time; unknown node, wrong secret.
pub async fn allocs(
    server: &Server,
    id: &str,
    secret: &str,
    ids: &[String],
    min_index: u64,
) -> Result<(Vec<Arc<Allocation>>, u64), Error> {
    at_most(ids, MOST_IDS, "allocations")?;
    let mut applied = server.store().follow_applied();
    let there = tokio::time::timeout(Duration::from_secs(5), applied.wait_for(|a| *a >= min_index)).await;
    if !matches!(there, Ok(Ok(_))) {
        return Err(Error::internal(format!("timed out waiting for index {min_index}")));
    }
    authenticate(server, id, secret)?;
    let snapshot = server.snapshot();
    let found = ids.iter().filter_map(|wanted| for_node(snapshot.state(), id, wanted)).collect();
    Ok((found, snapshot.index_of(Table::Allocs)))
}

/// An allocation as far as it is a node's business: its own in full, and of those that its own allocations replace how
/// they are, as it waits for their end. Nothing else.
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

/// The node as the servers know it, for itself; `None` if it is gone.
///
/// # Errors
/// Wrong secret.
pub fn own_node(server: &Server, id: &str, secret: &str) -> Result<Option<Arc<Node>>, Error> {
    let known = server.snapshot().state().node(id).is_some();
    known.then(|| authenticate(server, id, secret)).transpose()
}

/// A node reports on its allocations (§11). Gives the index.
///
/// # Errors
/// See the texts of §11; an allocation of another node.
pub async fn update_allocs(server: &Server, id: &str, secret: &str, allocs: Vec<Allocation>) -> Result<u64, Error> {
    server.wait_ready().await?;
    if allocs.is_empty() {
        return Err(Error::internal("must update at least one allocation"));
    }
    if id.is_empty() {
        return Err(Error::internal("missing node ID"));
    }
    let snapshot = server.snapshot();
    let Some(node) = snapshot.state().node(id).map(|n| n.node.clone()) else {
        return Err(Error::internal(format!("node {id} not found")));
    };
    if matches!(node.status.as_str(), DOWN | DISCONNECTED) {
        let text = format!("node {id} is not allowed to update allocs while in status {}", node.status);
        return Err(Error::internal(text));
    }
    if node.secret_id != secret {
        return Err(Error::denied("Permission denied"));
    }
    at_most(&allocs, MOST_REPORTS, "reports")?;
    let placed = |a: &Allocation| snapshot.state().alloc(&a.id).map(|e| e.alloc.node_id.clone());
    if allocs.iter().filter_map(placed).any(|at| at != id) {
        return Err(Error::denied("Permission denied"));
    }
    // Those that were collected meanwhile are nobody's news.
    let known: Vec<Allocation> = allocs.into_iter().filter(|a| placed(a).is_some()).collect();
    if known.is_empty() {
        return Ok(snapshot.latest_index());
    }
    server.alloc_updates().add(server, known).await
}

/// A node tells what happened to it. Gives the index.
///
/// # Errors
/// Unknown node, wrong secret, no leader.
pub async fn emit_events(server: &Server, id: &str, secret: &str, events: Vec<NodeEvent>) -> Result<u64, Error> {
    server.wait_ready().await?;
    authenticate(server, id, secret)?;
    at_most(&events, MOST_EVENTS, "events")?;
    let events = BTreeMap::from([(id.to_string(), events)]);
    Ok(server.commit(Operation::NodeEvents { events }).await?.0)
}

/// A node registers services of its allocations. Gives the index.
///
/// # Errors
/// Unknown node, wrong secret, a service or an allocation of another node, no leader.
pub async fn upsert_services(
    server: &Server,
    id: &str,
    secret: &str,
    services: Vec<ServiceRegistration>,
) -> Result<u64, Error> {
    server.wait_ready().await?;
    authenticate(server, id, secret)?;
    at_most(&services, MOST_SERVICES, "services")?;
    let snapshot = server.snapshot();
    let own = |s: &ServiceRegistration| {
        let alloc = snapshot.state().alloc(&s.alloc_id).is_some_and(|a| a.alloc.node_id == id);
        s.node_id == id && alloc && snapshot.service(&s.namespace, &s.id).is_none_or(|old| old.node_id == id)
    };
    if !services.iter().all(own) {
        return Err(Error::denied("Permission denied"));
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

/// A node removes a service of one of its allocations. Gives the index.
///
/// # Errors
/// Unknown node, wrong secret, no such service, no leader.
pub async fn delete_service(
    server: &Server,
    id: &str,
    secret: &str,
    namespace: &str,
    service: &str,
) -> Result<u64, Error> {
    server.wait_ready().await?;
    authenticate(server, id, secret)?;
    if server.snapshot().service(namespace, service).is_some_and(|s| s.node_id != id) {
        return Err(Error::denied("Permission denied"));
    }
    let id = (namespace.to_string(), service.to_string());
    Ok(server.commit(Operation::ServiceDelete { id }).await?.0)
}

/// A node is about to leave and wants to be drained. Gives the index.
///
/// # Errors
/// Unknown node, wrong secret, no leader.
pub async fn drain_self(
    server: &Server,
    id: &str,
    secret: &str,
    strategy: DrainStrategy,
    meta: BTreeMap<String, String>,
) -> Result<u64, Error> {
    server.wait_ready().await?;
    authenticate(server, id, secret)?;
    let request = DrainRequest { strategy: Some(strategy), meta, ..Default::default() };
    Ok(set_drain(server, id, request).await?.index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_allocation_that_its_own_replaces_a_node_is_told_the_status_alone() {
        let mut state = State::new();
        for id in ["one", "other"] {
            state.upsert_node(Arc::new(Node { id: id.into(), ..Node::default() }));
        }
        let alloc = |id: &str, node: &str, previous: &str| {
            Arc::new(Allocation {
                id: id.into(),
                node_id: node.into(),
                job_id: "web".into(),
                client_status: "running".into(),
                previous_allocation: previous.into(),
                ..Allocation::default()
            })
        };
        state.upsert_allocs([alloc("old", "one", ""), alloc("else", "one", ""), alloc("new", "other", "old")]);
        let read = |id: &str| for_node(&state, "other", id);
        assert_eq!(read("new").map(|a| a.job_id.clone()).as_deref(), Some("web"), "its own");
        let old = read("old").expect("the one it replaces");
        assert_eq!((old.client_status.as_str(), old.job_id.as_str()), ("running", ""));
        assert!(read("else").is_none() && read("none").is_none());
    }
}
