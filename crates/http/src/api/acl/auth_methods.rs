//! Auth methods and binding rules (`docs/spec/http-api.md §5.16`).

use std::sync::Arc;

use serde_json::{Value, json};

use super::login::check_config;
use super::{begin_delete, begin_read, enabled};
use crate::error::Error;
use crate::request::blocking_read::{found, indexed};
use crate::request::filter::Filter;
use crate::request::response::{Outcome, Response};
use crate::request::{Request, ids};
use encamp_model::requests::AclBindingRuleRequest;
use encamp_model::{AclAuthMethod, AclBindingRule, with_secrets};
use encamp_server::endpoints::acl::auth_methods as endpoint;
use encamp_server::storage::watch::WatchKey;
use encamp_state::Table;

/// Everybody may see which methods there are: a login needs one.
pub(crate) async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    enabled(&request)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::AclAuthMethods)], |store| {
        let rows: Vec<Arc<AclAuthMethod>> = store.acl_auth_methods().cloned().collect();
        Ok((store.index_of(Table::AclAuthMethods).max(1), rows))
    });
    let (rows, meta) = read.await?;
    let stub = |m: &Arc<AclAuthMethod>| {
        json!({
            "Name": m.name, "Type": m.r#type.as_str(), "Default": m.default, "Hash": m.hash,
            "CreateIndex": m.create_index, "ModifyIndex": m.modify_index,
        })
    };
    let stubs: Vec<Value> = rows.iter().map(stub).collect();
    Ok(Response::json(&stubs)?.meta(&meta))
}

/// The path names no method.
pub(crate) async fn unnamed(_: Request) -> Outcome {
    Err(Error::bad("missing ACL auth-method name"))
}

/// An auth method as it is answered: its secrets are replaced by a word.
fn answer(method: &Arc<AclAuthMethod>) -> Outcome {
    // What is left of the secrets is a word.
    with_secrets(|| Response::json(&*endpoint::shown(method)))
}

pub(crate) async fn one(request: Request) -> Outcome {
    let name = request.rest().to_string();
    let options = begin_read(&request)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::AclAuthMethods)], |store| {
        Ok(indexed(store, Table::AclAuthMethods, store.acl_auth_method(&name).cloned(), |m| m.modify_index))
    });
    let (method, meta) = found(read.await?, "ACL auth-method not found")?;
    Ok(answer(&method)?.meta(&meta))
}

/// Writes a method, which is that of the path if it names one.
pub(crate) async fn write(mut request: Request) -> Outcome {
    request.check_region()?;
    let method: AclAuthMethod = request.json().await?;
    request.audit(&method);
    let name = request.rest();
    if !name.is_empty() && method.name != name {
        return Err(Error::bad("ACL auth-method name does not match request path"));
    }
    enabled(&request)?;
    request.authorize()?;
    check_config(&method)?;
    let (method, index) = endpoint::upsert(request.server()?, method).await?;
    Ok(answer(&method)?.index(index))
}

pub(crate) async fn delete(request: Request) -> Outcome {
    begin_delete(&request)?;
    Ok(Response::empty().index(endpoint::delete(request.server()?, request.rest()).await?))
}

pub(crate) async fn list_rules(request: Request) -> Outcome {
    let options = begin_read(&request)?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::AclBindingRules)], |store| {
        let rows: Vec<Arc<AclBindingRule>> = store.acl_binding_rules().cloned().collect();
        Ok((store.index_of(Table::AclBindingRules).max(1), rows))
    });
    let (rows, meta) = read.await?;
    let stub = |r: &Arc<AclBindingRule>| {
        json!({
            "ID": r.id, "Description": r.description, "AuthMethod": r.auth_method, "Hash": r.hash,
            "CreateIndex": r.create_index, "ModifyIndex": r.modify_index,
        })
    };
    let stubs: Vec<Value> = rows.iter().map(stub).collect();
    Ok(Response::json(&stubs)?.meta(&meta))
}

/// The path names no rule.
pub(crate) async fn unnamed_rule(_: Request) -> Outcome {
    Err(Error::bad("missing ACL binding rule ID"))
}

pub(crate) async fn one_rule(request: Request) -> Outcome {
    let options = begin_read(&request)?;
    let id = ids::full("ACL binding rule", request.rest())?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::AclBindingRules)], |store| {
        Ok(indexed(store, Table::AclBindingRules, store.acl_binding_rule(&id).cloned(), |r| r.modify_index))
    });
    let (rule, meta) = found(read.await?, "ACL binding rule not found")?;
    Ok(Response::json(&*rule)?.meta(&meta))
}

/// Writes a rule, which is that of the path if it names one.
pub(crate) async fn write_rule(mut request: Request) -> Outcome {
    request.check_region()?;
    let mut rule: AclBindingRuleRequest = request.json().await?;
    let id = request.rest();
    if rule.id.is_empty() {
        rule.id = id.to_string();
    } else if !id.is_empty() && rule.id != id {
        return Err(Error::bad("ACL binding rule ID does not match request path"));
    }
    enabled(&request)?;
    request.authorize()?;
    if let Some(selector) = rule.selector.as_ref().filter(|s| !s.is_empty()) {
        Filter::parse(selector).map_err(|e| Error::bad(format!("selector is invalid: {e}")))?;
    }
    let (rule, index) = endpoint::upsert_rule(request.server()?, rule).await?;
    request.audit(&*rule);
    Ok(Response::json(&*rule)?.index(index))
}

pub(crate) async fn delete_rule(request: Request) -> Outcome {
    begin_delete(&request)?;
    Ok(Response::empty().index(endpoint::delete_rule(request.server()?, request.rest()).await?))
}
