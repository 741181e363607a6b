//! Identities of tasks and nodes (`docs/spec/http-api.md §10`).
//!
//! A signature takes about a millisecond, and most tasks never see their default identity. So the plan only notes the key
//! ([`Allocation::signing_key_id`]); the token is signed when the node asks for it, and is the same whenever that is: its times are
//! those of the allocation, its ID follows from it.

use std::sync::Arc;

use super::node_rpc::{MOST_IDENTITIES, authenticate};
use crate::Server;
use crate::error::Error;
use crate::keyring::claims::{AUDIENCE, Claims, DEFAULT, Issue, fixed_id};
use crate::keyring::{Keyring, jwt};
use crate::settings::Settings;
use encamp_host::ids;
use encamp_host::threads;
use encamp_model::*;
use encamp_state::StateStore;

/// The identity of a node, if it needs a new one: token and key. None also while there is no key to sign with.
pub(super) fn of_node(server: &Server, node: &Node, held: &str) -> Option<(String, String)> {
    let (now, settings) = (ids::now(), server.settings());
    let known = jwt::key_id(held).is_some_and(|id| server.keyring().has(&id));
    if known && jwt::claims::<Claims>(held).is_some_and(|c| !c.outdated(node, now)) {
        return None;
    }
    let ttl = server.snapshot().state().node_pool(&node.node_pool).map_or(0, |p| p.node_identity_ttl);
    let ttl = if ttl > 0 { ttl } else { super::pool::IDENTITY_TTL };
    let issue = Issue { region: &settings.region, issuer: &settings.oidc_issuer, at: now };
    server.keyring().sign(&issue.node(node, ttl, ids::uuid())).ok()
}

/// Signs identities of allocations of a node; what it can't be given is left out.
///
/// # Errors
/// Unknown node, wrong secret, no key to sign with.
pub async fn sign(
    server: &Server,
    node_id: &str,
    secret: &str,
    wanted: Vec<IdentityRequest>,
) -> Result<Vec<SignedIdentity>, Error> {
    let node = authenticate(server, node_id, secret)?;
    if wanted.len() > MOST_IDENTITIES {
        let text = format!("{} identities in one call; at most {MOST_IDENTITIES} are signed", wanted.len());
        return Err(Error::bad(text));
    }
    let (store, keyring, settings) = (server.snapshot(), server.keyring().clone(), server.settings());
    if keyring.active_id().is_none() {
        return Err(Error::internal("keyring has no active key"));
    }
    let signed = threads::unblock(move || {
        wanted.into_iter().filter_map(|w| sign_one(&store, &keyring, &settings, &node, w)).collect()
    });
    signed.await.map_err(|_| Error::internal("the agent is stopping"))
}

fn sign_one(
    store: &StateStore,
    keyring: &Arc<Keyring>,
    settings: &Settings,
    node: &Node,
    wanted: IdentityRequest,
) -> Option<SignedIdentity> {
    let alloc = &store.state().alloc(&wanted.alloc_id)?.alloc;
    if alloc.node_id != node.id || alloc.client_terminal() {
        return None;
    }
    let task = alloc.group()?.tasks.iter().find(|t| t.name == wanted.task)?;
    let namespace = store.state().namespace(&alloc.namespace).map(|n| &**n);
    let mut issue = Issue { region: &settings.region, issuer: &settings.oidc_issuer, at: ids::now() };
    let (claims, jwt) = if wanted.identity == DEFAULT {
        issue.at = alloc.create_time;
        let every = WorkloadIdentity { name: DEFAULT.into(), audience: vec![AUDIENCE.into()], ..Default::default() };
        let identity = task.identity.as_ref().unwrap_or(&every);
        let claims = issue.task(alloc, &task.name, identity, namespace, fixed_id(&alloc.id, &task.name))?;
        let noted = keyring.sign_with(&alloc.signing_key_id, &claims);
        // The key may have been removed by force, or there was none when the allocation was placed.
        let jwt = noted.or_else(|_| keyring.sign(&claims).map(|(jwt, _)| jwt));
        (claims, jwt)
    } else {
        let identity = task.identities.iter().find(|i| i.name == wanted.identity)?;
        let claims = issue.task(alloc, &task.name, identity, namespace, ids::uuid())?;
        let jwt = keyring.sign(&claims).map(|(jwt, _)| jwt);
        (claims, jwt)
    };
    match jwt {
        Ok(jwt) => Some(SignedIdentity { request: wanted, jwt, expires: claims.exp.saturating_mul(SECOND) }),
        Err(error) => {
            tracing::error!(target: "nomad", alloc_id = alloc.id.as_str(), %error, "failed to sign an identity");
            None
        }
    }
}
