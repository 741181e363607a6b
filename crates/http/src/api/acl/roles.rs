//! Roles (`docs/spec/http-api.md §5.16`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{begin_delete, begin_read, enabled};
use crate::error::Error;
use crate::request::blocking_read::{found, indexed};
use crate::request::response::{Outcome, Response};
use crate::request::{Request, ids};
use encamp_model::AclRole;
use encamp_server::acl::Caller;
use encamp_server::endpoints::acl::roles;
use encamp_server::storage::watch::WatchKey;
use encamp_state::Table;

/// The IDs of the caller's roles; none: the caller may see all.
fn own(request: &Request) -> Result<Option<BTreeSet<String>>, Error> {
    if request.access()?.is_management() {
        return Ok(None);
    }
    Ok(Some(match request.caller()? {
        Caller::Token(token) => token.roles.iter().map(|r| r.id.clone()).collect(),
        Caller::AccessControlOff
        | Caller::Anonymous
        | Caller::Workload(_)
        | Caller::Node(_)
        | Caller::Introduction
        | Caller::Leader { .. }
        | Caller::Remote { .. } => BTreeSet::new(),
    }))
}

pub(crate) async fn list(request: Request) -> Outcome {
    let options = begin_read(&request)?;
    let prefix = ids::prefix("ACL role", &options.prefix)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::AclRoles)], |store| {
        let own = own(&request)?;
        let visible =
            |r: &&Arc<AclRole>| r.id.starts_with(&prefix) && own.as_ref().is_none_or(|ids| ids.contains(&r.id));
        let rows: Vec<Arc<AclRole>> = store.acl_roles().filter(visible).cloned().collect();
        Ok((store.index_of(Table::AclRoles).max(1), rows))
    });
    let (rows, meta) = read.await?;
    Ok(Response::json(&rows)?.meta(&meta))
}

/// The path names no role.
pub(crate) async fn unnamed(_: Request) -> Outcome {
    Err(Error::bad("missing ACL role ID"))
}

/// A path with too many parts.
pub(crate) async fn nothing(_: Request) -> Outcome {
    Err(Error::bad("invalid URI"))
}

/// Answers with a role.
async fn shown(request: &Request, id: &str, by_name: bool) -> Outcome {
    let options = request.read_options()?;
    enabled(request)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::AclRoles)], |store| {
        let role = if by_name { store.acl_role_by_name(id) } else { store.acl_role(id) }.cloned();
        let own = own(request)?;
        if own.is_some_and(|ids| !role.as_ref().is_some_and(|r| ids.contains(&r.id))) {
            return Err(Error::denied());
        }
        Ok(indexed(store, Table::AclRoles, role, |r| r.modify_index))
    });
    let (role, meta) = found(read.await?, "ACL role not found")?;
    Ok(Response::json(&*role)?.meta(&meta))
}

pub(crate) async fn one(request: Request, id: String) -> Outcome {
    enabled(&request)?;
    let id = match ids::full("ACL role", &id) {
        Ok(id) => id,
        // Who may see some roles only is refused whatever else there may be.
        Err(e) => return Err(if request.access()?.is_management() { e } else { Error::denied() }),
    };
    shown(&request, &id, false).await
}

pub(crate) async fn one_by_name(request: Request, name: String) -> Outcome {
    shown(&request, &name, true).await
}

/// Writes a role, which is that of the path if it names one.
pub(crate) async fn write(mut request: Request) -> Outcome {
    request.check_region()?;
    let role: AclRole = request.json().await?;
    let id = request.rest();
    if !id.is_empty() && role.id != id {
        return Err(Error::bad("ACL role ID does not match request path"));
    }
    enabled(&request)?;
    request.authorize()?;
    let (role, index) = roles::upsert(request.server()?, role).await?;
    request.audit(&*role);
    Ok(Response::json(&*role)?.index(index))
}

pub(crate) async fn delete(request: Request) -> Outcome {
    begin_delete(&request)?;
    Ok(Response::empty().index(roles::delete(request.server()?, request.rest()).await?))
}
