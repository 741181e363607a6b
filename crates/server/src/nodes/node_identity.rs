//! Identities of nodes (`docs/spec/http-api.md §10`): when a node gets a new one.

use crate::keyring::claims::{Claims, Issue};
use crate::server_state::ServerState;
use encamp_host::ids;
use encamp_model::*;

/// The default TTL of node identities in a node pool, in nanoseconds.
pub const IDENTITY_TTL: i64 = 24 * HOUR;

/// The new identity of a node, if the one that it holds is no valid one, or does not last: token and key ID. `None` as
/// well while there is no signing key.
pub(super) fn of_node(server: &ServerState, node: &Node, held: &str) -> Option<(SecretString, String)> {
    let (now, settings, store) = (ids::now(), server.settings(), server.snapshot());
    let lasts = |c: &Claims| c.is_of_node(node, &settings.region) && !c.outdated(node, now) && !c.is_revoked(&store);
    if server.keyring().verified_node(held, now).is_some_and(|c| lasts(&c)) {
        return None;
    }
    // The clock of this leader may be behind that of the one that revoked an earlier identity.
    let now = store.node_revocation(&node.id).map_or(now, |r| now.max(r.revoked_at.saturating_add(SECOND)));
    let ttl = store.state().node_pool(&node.node_pool).map_or(0, |p| p.node_identity_ttl);
    let ttl = if ttl > 0 { ttl } else { IDENTITY_TTL };
    let issue = Issue { region: &settings.region, issuer: &settings.oidc_issuer, at: now };
    let (jwt, key) = server.keyring().sign(&issue.node(node, ttl, ids::uuid())).ok()?;
    Some((jwt.into(), key))
}
