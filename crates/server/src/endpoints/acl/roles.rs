//! Roles (`docs/spec/http-api.md §7.1`).

use std::sync::Arc;

use super::{MOST_LINKS, check_texts, commit, invalid};
use crate::error::Error;
use crate::leading::Leading;
use encamp_host::ids;
use encamp_model::AclRole;
use encamp_ops::AclChange;

/// Writes a role: a new one if it has no ID. Returns it and the index.
///
/// # Errors
/// 400: a member is invalid, or there is no leader.
pub async fn upsert(server: &Leading, mut role: AclRole) -> Result<(Arc<AclRole>, u64), Error> {
    server.wait_ready().await?;
    let snapshot = server.snapshot();
    let mut wrong = check_texts(&role.name, &role.description);
    if role.policies.is_empty() {
        wrong.push("at least one policy should be specified".into());
    }
    if role.policies.len() > MOST_LINKS {
        wrong.push(format!("a role has at most {MOST_LINKS} policies"));
    }
    if !wrong.is_empty() {
        return Err(invalid("role", &wrong));
    }
    if role.id.is_empty() {
        role.id = ids::uuid();
    } else if snapshot.acl_role(&role.id).is_none() {
        return Err(Error::bad(format!("cannot find role {}", role.id)));
    }
    if snapshot.acl_role_by_name(&role.name).is_some_and(|r| r.id != role.id) {
        return Err(Error::bad(format!("role with name {} already exists", role.name)));
    }
    let mut links = Vec::with_capacity(role.policies.len());
    for link in std::mem::take(&mut role.policies) {
        if snapshot.acl_policy(&link.name).is_none() {
            return Err(Error::bad(format!("cannot find policy {}", link.name)));
        }
        if !links.contains(&link) {
            links.push(link);
        }
    }
    role.policies = links;
    role.hash = Some(role.compute_hash());
    let id = role.id.clone();
    let index = commit(server, AclChange::RoleUpsert(vec![role])).await?;
    let snapshot = server.snapshot();
    let role = snapshot.acl_role(&id).ok_or_else(|| Error::bad(format!("cannot find role {id}")))?;
    Ok((role.clone(), index))
}

/// Removes a role. Returns the index.
///
/// # Errors
/// 400: the role does not exist, or there is no leader.
pub async fn delete(server: &Leading, id: &str) -> Result<u64, Error> {
    server.wait_ready().await?;
    commit(server, AclChange::RoleDelete(vec![id.into()])).await
}
