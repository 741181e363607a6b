//! Tokens, bootstrap, one-time tokens (`docs/spec/http-api.md §5.16`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{begin_delete, begin_read, body_of, enabled, with_secret};
use crate::error::Error;
use crate::request::blocking_read::{found, indexed};
use crate::request::filter::Filter;
use crate::request::page::{Order, Pager};
use crate::request::response::{Outcome, Response};
use crate::request::{Request, ids};
use encamp_model::json::or_default;
use encamp_model::*;
use encamp_server::acl::Caller;
use encamp_server::endpoints::acl::{bootstrap as first, one_time, tokens};
use encamp_server::storage::watch::WatchKey;
use encamp_state::{StateStore, Table};

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct BootstrapRequest {
    #[serde(deserialize_with = "or_default")]
    bootstrap_secret: SecretString,
}

pub(crate) async fn bootstrap(mut request: Request) -> Outcome {
    request.check_region()?;
    let body: BootstrapRequest = if request.has_body() { request.json().await? } else { Default::default() };
    enabled(&request)?;
    let (token, index) = first::bootstrap(request.server()?, body.bootstrap_secret).await?;
    request.audit(&*token);
    Ok(with_secret(&token)?.index(index))
}

/// A token in lists: without its secret.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Stub<'a> {
    #[serde(rename = "AccessorID")]
    accessor_id: &'a str,
    name: &'a str,
    r#type: &'a AclTokenType,
    policies: Option<&'a [String]>,
    roles: Option<&'a [AclTokenRoleLink]>,
    global: bool,
    hash: &'a Option<Bytes>,
    create_time: String,
    expiration_time: Option<Time>,
    create_index: u64,
    modify_index: u64,
}

impl Stub<'_> {
    fn of(t: &AclToken) -> Stub<'_> {
        Stub {
            accessor_id: &t.accessor_id,
            name: &t.name,
            r#type: &t.r#type,
            policies: (!t.policies.is_empty()).then_some(&t.policies),
            roles: (!t.roles.is_empty()).then_some(&t.roles),
            global: t.global,
            hash: &t.hash,
            create_time: t.create_time.to_string(),
            expiration_time: t.expiration_time,
            create_index: t.create_index,
            modify_index: t.modify_index,
        }
    }
}

pub(crate) async fn list(request: Request) -> Outcome {
    let options = begin_read(&request)?;
    let prefix = ids::prefix("acl token", &options.prefix)?;
    let pager = Pager::new(&options)?;
    let global = request.flag("global")?;
    let matches = |f: &Filter, t: &Arc<AclToken>| f.matches("ACLToken", &Stub::of(t));
    let keep = |t: &Arc<AclToken>| !global || t.global;
    let read = |store: &StateStore| {
        let page = if prefix.is_empty() {
            let rows = store.acl_tokens_by_create().cloned();
            pager.page(Order::Indexed, rows, |t| format!("{}.{}", t.create_index, t.accessor_id), matches, keep)?
        } else {
            let rows = store.acl_tokens_from(&prefix).take_while(|t| t.accessor_id.starts_with(&prefix));
            pager.page(Order::Text, rows.cloned(), |t| t.accessor_id.clone(), matches, keep)?
        };
        let rows: Vec<Arc<AclToken>> = page.rows.iter().map(|t| tokens::shown(store, t)).collect();
        Ok((store.index_of(Table::AclToken).max(1), (rows, page.next)))
    };
    let ((rows, next), meta) = request.blocking(&options, vec![WatchKey::Table(Table::AclToken)], read).await?;
    let stubs: Vec<Stub<'_>> = rows.iter().map(|t| Stub::of(t)).collect();
    Ok(Response::json(&stubs)?.meta(&meta).next_token(next.as_deref()))
}

/// The path names no token.
pub(crate) async fn unnamed(_: Request) -> Outcome {
    Err(Error::bad("Missing Token Accessor"))
}

/// Writes a token, which is that of the path if it names one.
pub(crate) async fn write(mut request: Request) -> Outcome {
    request.check_region()?;
    let token: AclToken = request.json().await?;
    let accessor = request.rest();
    if !accessor.is_empty() && token.accessor_id != accessor {
        return Err(Error::bad("ACL token accessor does not match request path"));
    }
    enabled(&request)?;
    request.authorize()?;
    let (token, index) = tokens::upsert(request.server()?, token).await?;
    request.audit(&*token);
    Ok(with_secret(&token)?.index(index))
}

/// A token: for who may make tokens, and for its owner.
pub(crate) async fn one(request: Request) -> Outcome {
    let accessor = request.rest().to_string();
    let options = request.read_options()?;
    enabled(&request)?;
    let own = matches!(request.caller()?, Caller::Token(t) if t.accessor_id == accessor);
    if !own {
        request.authorize()?;
    }
    let accessor = ids::full("acl token", &accessor)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::AclToken)], |store| {
        let token = store.acl_token(&accessor).map(|t| tokens::shown(store, t));
        Ok(indexed(store, Table::AclToken, token, |t| t.modify_index))
    });
    let (token, meta) = found(read.await?, "ACL token not found")?;
    Ok(with_secret(&token)?.meta(&meta))
}

pub(crate) async fn delete(request: Request) -> Outcome {
    begin_delete(&request)?;
    Ok(Response::empty().index(tokens::delete(request.server()?, request.rest()).await?))
}

/// The token of the request; without access control a constant one.
pub(crate) async fn own(request: Request) -> Outcome {
    request.read_options()?;
    let snapshot = request.server()?.snapshot();
    let index = snapshot.index_of(Table::AclToken);
    let constant = |accessor: &str, name: &str, policies: &[&str]| AclToken {
        accessor_id: accessor.into(),
        name: name.into(),
        r#type: AclTokenType::Client,
        policies: policies.iter().map(|p| (*p).to_string()).collect(),
        ..Default::default()
    };
    let token = match request.caller()? {
        Caller::AccessControlOff => constant("acls-disabled", "ACLs disabled token", &[]),
        Caller::Anonymous => constant("anonymous", "Anonymous Token", &["anonymous"]),
        Caller::Token(token) => {
            let token = tokens::shown(&snapshot, &token);
            return Ok(with_secret(&token)?.meta(&request.meta(token.modify_index)));
        }
        Caller::Workload(_)
        | Caller::Node(_)
        | Caller::Introduction
        | Caller::Leader { .. }
        | Caller::Remote { .. } => {
            return Err(Error::not_found("ACL token not found"));
        }
    };
    Ok(Response::json(&token)?.meta(&request.meta(index)))
}

/// Makes a one-time token for the token of the request.
pub(crate) async fn one_time(request: Request) -> Outcome {
    request.check_region()?;
    enabled(&request)?;
    let Caller::Token(token) = request.caller()? else { return Err(Error::denied()) };
    let (once, index) = one_time::create(request.server()?, &token).await?;
    let body = with_secrets(|| serde_json::to_value(&once)).map_err(|e| Error::internal(e.to_string()))?;
    Ok(Response::json(&json!({ "OneTimeToken": body, "Index": index }))?.index(index))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ExchangeRequest {
    #[serde(rename = "OneTimeSecretID", deserialize_with = "or_default")]
    secret: SecretString,
}

/// Exchanges a one-time token for the token that it stands for.
pub(crate) async fn exchange(mut request: Request) -> Outcome {
    request.check_region()?;
    let body: ExchangeRequest = request.json().await?;
    enabled(&request)?;
    let (token, index) = one_time::exchange(request.server()?, &body.secret).await?;
    request.audit(&*token);
    Ok(Response::json(&json!({ "Token": body_of(&token)?, "Index": index }))?.index(index))
}
