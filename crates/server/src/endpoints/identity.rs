//! Identity tokens of tasks, and introduction tokens of nodes (`docs/spec/http-api.md §10`).
//!
//! A signature takes about a millisecond, and most tasks never use their default identity. A plan therefore only
//! records the key ([`Allocation::signing_key_id`]); the token is signed when the node requests it. It is always the
//! same token, because its times are those of the allocation and its ID is derived from it.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::keyring::claims::{AUDIENCE, DEFAULT, Issue, fixed_id};
use crate::keyring::{KEY_WAIT, Keyring};
use crate::leading::Leading;
use crate::nodes::node_auth::{NodeProof, authenticate};
use crate::server_state::ServerState;
use crate::settings::Settings;
use encamp_host::ids;
use encamp_host::threads;
use encamp_model::*;
use encamp_state::StateStore;

/// Maximum number of requested identities in one call.
const MOST_IDENTITIES: usize = 1_000;
/// How far the clocks of two leaders may be apart for introductions after a revocation, in nanoseconds.
const CLOCKS_APART: i64 = 30 * SECOND;

/// A token with which the leader reads the usage of allocations of a namespace from the agents of their nodes
/// (`docs/spec/server.md §2.2`). `ttl` is in nanoseconds.
///
/// # Errors
/// There is no signing key, or the agent is stopping.
pub async fn for_usage(server: &ServerState, namespace: &str, ttl: i64) -> Result<SecretString, Error> {
    let settings = server.settings();
    let issue = Issue { region: &settings.region, issuer: &settings.oidc_issuer, at: ids::now() };
    let (claims, keyring) = (issue.leader(namespace, ttl, ids::uuid()), server.keyring().clone());
    let signed = threads::unblock(move || keyring.sign(&claims)).await;
    Ok(signed.map_err(|_| Error::internal("the agent is stopping"))??.0.into())
}

/// Creates an introduction token for a node with this name (any name if empty) in a node pool
/// (`docs/spec/http-api.md §5.16`). `ttl` is in nanoseconds: 0 for the default, at most the configured maximum.
///
/// # Errors
/// The node pool cannot contain nodes, the TTL is negative, or there is no signing key.
pub async fn introduce(server: &Leading, name: &str, pool: &str, ttl: i64) -> Result<String, Error> {
    server.wait_ready().await?;
    let pool = if pool.is_empty() { "default" } else { pool };
    if pool == "all" || !super::pool::is_name(pool) {
        return Err(Error::bad(format!("invalid node pool {}", quoted(pool))));
    }
    if ttl < 0 {
        return Err(Error::bad("TTL must not be negative"));
    }
    outlast_revocations(server).await;
    let settings = server.settings();
    let ttl = if ttl == 0 { settings.introduction.default_ttl } else { ttl }.min(settings.introduction.max_ttl);
    let issue = Issue { region: &settings.region, issuer: &settings.oidc_issuer, at: ids::now() };
    let claims = issue.introduction(name, pool, ttl, ids::uuid());
    let keyring = server.keyring().clone();
    keyring.wait_active(KEY_WAIT).await;
    let signed = threads::unblock(move || keyring.sign(&claims)).await;
    Ok(signed.map_err(|_| Error::internal("the agent is stopping"))??.0)
}

/// Waits until the second of the latest revocation has passed: tokens of that second are refused. The leader that wrote
/// it may have had another clock.
async fn outlast_revocations(server: &ServerState) {
    let latest = server.snapshot().node_revocations().map(|r| r.revoked_at).max().unwrap_or_default();
    let (now, next) = (ids::now(), (latest.div_euclid(SECOND) + 1).saturating_mul(SECOND));
    if now < next && next - now <= CLOCKS_APART {
        tokio::time::sleep(Duration::from_nanos(u64::try_from(next - now).unwrap_or_default())).await;
    }
}

/// Signs identities for allocations of a node; identities that it may not have are left out.
///
/// # Errors
/// The node is unknown, its proof is wrong, or there is no signing key.
pub async fn sign(
    server: &ServerState,
    node_id: &str,
    proof: &NodeProof,
    wanted: Vec<IdentityRequest>,
) -> Result<Vec<SignedIdentity>, Error> {
    let node = authenticate(server, node_id, proof)?;
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
        // The key may have been removed with `force`, or there was none when the allocation was placed.
        let jwt = noted.or_else(|_| keyring.sign(&claims).map(|(jwt, _)| jwt));
        (claims, jwt)
    } else {
        let identity = task.identities.iter().find(|i| i.name == wanted.identity)?;
        let claims = issue.task(alloc, &task.name, identity, namespace, ids::uuid())?;
        let jwt = keyring.sign(&claims).map(|(jwt, _)| jwt);
        (claims, jwt)
    };
    match jwt {
        Ok(jwt) => {
            Some(SignedIdentity { request: wanted, jwt: jwt.into(), expires: claims.exp.saturating_mul(SECOND) })
        }
        Err(error) => {
            tracing::error!(target: "nomad", alloc_id = alloc.id.as_str(), %error, "failed to sign an identity");
            None
        }
    }
}
