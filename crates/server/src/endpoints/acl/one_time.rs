//! One-time tokens: a token for a short time and a single use, that is safe in a URL (`docs/spec/http-api.md §7.6`).

use std::sync::Arc;

use super::{commit, new_secret, tokens};
use crate::acl::is_expired;
use crate::error::Error;
use crate::leading::Leading;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::AclChange;

/// How long a one-time token is valid.
const VALID: i64 = 10 * MINUTE;

/// Makes a one-time token for a token, which replaces the one before it. Returns it and the index.
///
/// # Errors
/// There is no leader.
pub async fn create(server: &Leading, token: &AclToken) -> Result<(OneTimeToken, u64), Error> {
    server.wait_ready().await?;
    let mut once = OneTimeToken {
        one_time_secret_id: new_secret()?,
        accessor_id: token.accessor_id.clone(),
        expires_at: Time::from_unix_nanos(ids::now().saturating_add(VALID)),
        ..Default::default()
    };
    let index = commit(server, AclChange::OneTimeUpsert(once.clone())).await?;
    (once.create_index, once.modify_index) = (index, index);
    Ok((once, index))
}

/// Exchanges a one-time token for the token that it stands for. Returns that with its secret, and the index.
///
/// # Errors
/// 403: the one-time token is unknown, was exchanged already, or has expired, as the token has.
pub async fn exchange(server: &Leading, secret: &SecretString) -> Result<(Arc<AclToken>, u64), Error> {
    server.wait_ready().await?;
    let (snapshot, now) = (server.snapshot(), ids::now());
    let once = snapshot.one_time_token_by_secret(secret.expose()).ok_or_else(Error::permission_denied)?;
    if once.expires_at.unix_nanos().is_none_or(|at| at < now) {
        return Err(Error::permission_denied());
    }
    let token = snapshot.acl_token(&once.accessor_id).filter(|t| !is_expired(t, now));
    let token = tokens::shown(&snapshot, token.ok_or_else(Error::permission_denied)?);
    let index = commit(server, AclChange::OneTimeDelete(once.accessor_id.clone(), once.create_index)).await?;
    Ok((token, index))
}
