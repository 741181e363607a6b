//! Which node makes a call (`docs/spec/client.md §3.1`): it proves itself by its signed identity, or by its secret as
//! long as it has none. Revoked identities and secrets are refused (`docs/spec/server.md §9.8`).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::Error;
use crate::fsm;
use crate::server_state::ServerState;
use crate::settings::Enforcement;
use crate::storage::watch::WatchKey;
use encamp_host::ids;
use encamp_model::*;
use encamp_state::{StateStore, Table};

/// How often a state is read that did not change.
const LOOK_AGAIN: Duration = Duration::from_secs(3600);

/// How a node proves that it makes a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeProof {
    /// Its SecretID. It counts only if there is no identity.
    pub secret_id: SecretString,
    /// Its signed identity (a JWT); empty if the node has none. The right secret does not replace a wrong one.
    pub identity: SecretString,
}

impl From<SecretString> for NodeProof {
    /// The proof of a node that has no identity yet.
    fn from(secret_id: SecretString) -> NodeProof {
        NodeProof { secret_id, identity: SecretString::default() }
    }
}

impl From<&str> for NodeProof {
    fn from(secret_id: &str) -> NodeProof {
        SecretString::new(secret_id).into()
    }
}

/// Returns the node, if it proved itself against the state of this server, which may be behind the leader.
///
/// # Errors
/// The node is unknown, its identity was revoked, or the proof is wrong.
pub fn authenticate(server: &ServerState, id: &str, proof: &NodeProof) -> Result<Arc<Node>, Error> {
    authenticate_in(server, &server.snapshot(), id, proof)
}

/// Returns when what a node proved at this moment does not hold any more: its record was removed, its identity was
/// revoked, or it has another secret. The expiry of an identity ends nothing: the node has renewed it meanwhile.
pub async fn until_refused(server: &ServerState, id: &str) {
    let secret = |store: &StateStore| {
        let node = store.state().node(id).map(|n| &n.node).filter(|node| !fsm::node::is_revoked(store, node));
        node.map(|node| node.secret_id.clone())
    };
    let proven = secret(&server.snapshot());
    while proven.is_some() {
        let keys = vec![WatchKey::Row(Table::Nodes, id.to_string())];
        let read = server.store().read_newer(keys, 0, Instant::now() + LOOK_AGAIN, |store| {
            let holds = secret(store) == proven;
            // An index above the least one ends the wait.
            Ok::<_, Infallible>((u64::from(!holds), holds))
        });
        let Ok((_, holds)) = read.await;
        if !holds {
            return;
        }
    }
}

/// As [`authenticate`], against a certain state.
///
/// # Errors
/// As [`authenticate`].
pub(super) fn authenticate_in(
    server: &ServerState,
    store: &StateStore,
    id: &str,
    proof: &NodeProof,
) -> Result<Arc<Node>, Error> {
    if id.is_empty() {
        return Err(Error::internal("missing node ID for client status update"));
    }
    let node = store.state().node(id).map(|n| n.node.clone()).ok_or_else(Error::node_not_found)?;
    check(server, store, &node, proof)?;
    Ok(node)
}

/// Checks the proof of a stored node.
///
/// # Errors
/// Its identity was revoked, or the proof is wrong.
pub(super) fn check(server: &ServerState, store: &StateStore, node: &Node, proof: &NodeProof) -> Result<(), Error> {
    if fsm::node::is_revoked(store, node) {
        return Err(Error::node_revoked());
    }
    if proof.identity.is_empty() {
        // A restored record may be without a secret.
        let right = !node.secret_id.is_empty() && node.secret_id == proof.secret_id;
        return if right { Ok(()) } else { Err(Error::permission_denied()) };
    }
    let claims = server.keyring().verified_node(proof.identity.expose(), ids::now());
    let claims = claims.filter(|c| c.is_of_node(node, &server.settings().region));
    let claims = claims.ok_or_else(Error::permission_denied)?;
    if claims.is_revoked(store) { Err(Error::node_revoked()) } else { Ok(()) }
}

/// Checks whether a node may register, with this secret and this introduction token. `before` is the node as it is
/// stored.
///
/// # Errors
/// Its secret was revoked, it lacks a required introduction token, or the secret is not that of the stored node.
pub(super) fn check_registration(
    server: &ServerState,
    before: Option<&Node>,
    node: &Node,
    introduction: &str,
) -> Result<(), Error> {
    let store = server.snapshot();
    if store.is_revoked_secret(&node.secret_id) {
        tracing::warn!(target: "nomad.client", node_id = node.id.as_str(), "node registration with a revoked secret");
        return Err(Error::node_revoked());
    }
    if let Some(before) = before.filter(|b| !b.secret_id.is_empty()) {
        if before.secret_id == node.secret_id {
            return Ok(());
        }
        if !fsm::node::is_revoked(&store, before) {
            return Err(Error::secret_mismatch());
        }
    }
    match store.node_revocation(&node.id) {
        Some(revocation) => check_new_introduction(server, node, introduction, revocation),
        None if before.is_none() => check_introduction(server, node, introduction),
        // The record was restored without its secret.
        None => Ok(()),
    }
}

/// Checks whether a node whose identity was revoked may register with another secret: it has an introduction token that
/// was issued after the revocation, whatever the servers require of other nodes.
///
/// # Errors
/// It has none.
fn check_new_introduction(
    server: &ServerState,
    node: &Node,
    token: &str,
    revocation: &NodeRevocation,
) -> Result<(), Error> {
    let claims = server.keyring().verified(token, ids::now());
    if claims.is_some_and(|c| c.introduces(node) && revocation.precedes(c.iat)) {
        return Ok(());
    }
    server.metrics().count("nomad.client.introduction_violation_num", 1, &[]);
    let (node_id, node_pool) = (node.id.as_str(), node.node_pool.as_str());
    tracing::warn!(target: "nomad.client", node_id, node_pool, "registration of a revoked node without a new introduction token");
    Err(Error::node_revoked())
}

/// Checks whether an unknown node may register: it has a valid introduction token, or does not need one.
///
/// # Errors
/// An introduction token is required, and the node has none.
fn check_introduction(server: &ServerState, node: &Node, token: &str) -> Result<(), Error> {
    let enforcement = server.settings().introduction.enforcement;
    let introduced = || server.keyring().verified(token, ids::now()).is_some_and(|c| c.introduces(node));
    if enforcement == Enforcement::None || introduced() {
        return Ok(());
    }
    server.metrics().count("nomad.client.introduction_violation_num", 1, &[]);
    let (node_id, node_pool) = (node.id.as_str(), node.node_pool.as_str());
    tracing::warn!(target: "nomad.client", node_id, node_pool, "node registration without introduction token");
    match enforcement {
        Enforcement::Strict => Err(Error::permission_denied()),
        Enforcement::None | Enforcement::Warn => Ok(()),
    }
}
