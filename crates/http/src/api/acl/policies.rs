//! Policies (`docs/spec/http-api.md §5.16`).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::{begin_delete, begin_read, enabled};
use crate::error::Error;
use crate::request::Request;
use crate::request::blocking_read::{found, indexed};
use crate::request::read_options::ReadOptions;
use crate::request::response::{Meta, Outcome, Response};
use encamp_acl::Rules;
use encamp_model::*;
use encamp_server::acl::{ANONYMOUS, Caller};
use encamp_server::endpoints::acl::policies;
use encamp_server::storage::watch::WatchKey;
use encamp_state::{StateStore, Table};

/// The names of the caller's policies; none: the caller may see all.
fn own(request: &Request, store: &StateStore) -> Result<Option<BTreeSet<String>>, Error> {
    let access = request.access()?;
    if access.is_management() {
        return Ok(None);
    }
    let policies = access.current().map_err(|_| Error::denied())?.policies(store);
    Ok(Some(policies.iter().map(|p| p.name.clone()).collect()))
}

/// A policy in lists.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Stub<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(rename = "JobACL")]
    job_acl: &'a Option<JobAcl>,
    hash: &'a Option<Bytes>,
    create_index: u64,
    modify_index: u64,
}

impl Stub<'_> {
    fn of(p: &AclPolicy) -> Stub<'_> {
        Stub {
            name: &p.name,
            description: &p.description,
            job_acl: &p.job_acl,
            hash: &p.hash,
            create_index: p.create_index,
            modify_index: p.modify_index,
        }
    }
}

fn listed(policies: &[Arc<AclPolicy>]) -> Vec<Stub<'_>> {
    policies.iter().map(|p| Stub::of(p)).collect()
}

/// The policies that the caller may see, of names that begin with `prefix`.
async fn visible(request: &Request, options: &ReadOptions, prefix: &str) -> Result<(Vec<Arc<AclPolicy>>, Meta), Error> {
    let read = request.blocking(options, vec![WatchKey::Table(Table::AclPolicy)], |store| {
        let own = own(request, store)?;
        let visible = |p: &&Arc<AclPolicy>| {
            p.name.starts_with(prefix) && own.as_ref().is_none_or(|names| names.contains(&p.name))
        };
        let rows: Vec<Arc<AclPolicy>> = store.acl_policies().filter(visible).cloned().collect();
        Ok((store.index_of(Table::AclPolicy).max(1), rows))
    });
    read.await
}

pub(crate) async fn list(request: Request) -> Outcome {
    let options = begin_read(&request)?;
    let (rows, meta) = visible(&request, &options, &options.prefix).await?;
    Ok(Response::json(&listed(&rows))?.meta(&meta))
}

/// The policies of the caller.
pub(crate) async fn own_list(request: Request) -> Outcome {
    let options = request.read_options()?;
    enabled(&request)?;
    if matches!(request.caller()?, Caller::Anonymous) {
        return Err(Error::denied());
    }
    let (rows, meta) = visible(&request, &options, "").await?;
    if rows.is_empty() {
        return Ok(Response::json(&Value::Null)?.meta(&meta));
    }
    Ok(Response::json(&listed(&rows))?.meta(&meta))
}

/// The path names no policy.
pub(crate) async fn unnamed(_: Request) -> Outcome {
    Err(Error::bad("Missing Policy Name"))
}

pub(crate) async fn one(request: Request) -> Outcome {
    let name = request.rest().to_string();
    let options = request.read_options()?;
    enabled(&request)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::AclPolicy)], |store| {
        let own = own(&request, store)?;
        if name != ANONYMOUS && own.is_some_and(|names| !names.contains(&name)) {
            return Err(Error::denied());
        }
        Ok(indexed(store, Table::AclPolicy, store.acl_policy(&name).cloned(), |p| p.modify_index))
    });
    let (policy, meta) = found(read.await?, "ACL policy not found")?;
    let mut body = serde_json::to_value(&*policy).map_err(|e| Error::internal(e.to_string()))?;
    if let Value::Object(members) = &mut body {
        let rules = Rules::parse_stored(&policy.rules);
        let empty = policy.rules.trim().is_empty();
        members.insert("RulesJSON".into(), if empty { json!(null) } else { rules.to_json(&policy.rules) });
    }
    Ok(Response::json(&body)?.meta(&meta))
}

pub(crate) async fn write(mut request: Request) -> Outcome {
    request.check_region()?;
    let policy: AclPolicy = request.json().await?;
    if policy.name != request.rest() {
        return Err(Error::bad("ACL policy name does not match request path"));
    }
    enabled(&request)?;
    request.authorize()?;
    Ok(Response::empty().index(policies::upsert(request.server()?, policy).await?))
}

pub(crate) async fn delete(request: Request) -> Outcome {
    begin_delete(&request)?;
    Ok(Response::empty().index(policies::delete(request.server()?, request.rest()).await?))
}
