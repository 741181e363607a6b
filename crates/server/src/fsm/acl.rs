//! ACL objects (`docs/spec/server.md §18`, `docs/spec/http-api.md §7`).

use std::sync::Arc;

use super::txn::{Change, Txn};
use encamp_model::*;
use encamp_ops::{AclChange, Refusal};
use encamp_state::Table;

/// Applies a change.
pub(crate) fn change(txn: &mut Txn, change: &AclChange) -> Result<(), Refusal> {
    match change {
        AclChange::Bootstrap { token, reset_index } => return bootstrap(txn, token, *reset_index),
        AclChange::PolicyUpsert(policies) => policies.iter().for_each(|p| put_policy(txn, p)),
        AclChange::PolicyDelete(names) => names.iter().for_each(|name| remove_policy(txn, name)),
        AclChange::TokenUpsert(tokens) => return tokens.iter().try_for_each(|t| put_token(txn, t)),
        AclChange::TokenDelete(accessors) => return accessors.iter().try_for_each(|a| remove_token(txn, a)),
        AclChange::RoleUpsert(roles) => return roles.iter().try_for_each(|r| put_role(txn, r)),
        AclChange::RoleDelete(ids) => return ids.iter().try_for_each(|id| remove_role(txn, id)),
        AclChange::AuthMethodUpsert(methods) => return methods.iter().try_for_each(|m| put_auth_method(txn, m)),
        AclChange::AuthMethodDelete(names) => return names.iter().try_for_each(|n| remove_auth_method(txn, n)),
        AclChange::BindingRuleUpsert(rules) => return rules.iter().try_for_each(|r| put_binding_rule(txn, r)),
        AclChange::BindingRuleDelete(ids) => return ids.iter().try_for_each(|id| remove_binding_rule(txn, id)),
        AclChange::OneTimeUpsert(token) => put_one_time_token(txn, token),
        AclChange::OneTimeDelete(accessor, index) => return exchange(txn, accessor, *index),
        AclChange::OneTimeExpire(at) => expire(txn, *at),
    }
    Ok(())
}

fn bootstrap(txn: &mut Txn, token: &AclToken, reset_index: u64) -> Result<(), Refusal> {
    match txn.store.acl_bootstrap_index() {
        Some(index) if index != reset_index => return Err(Refusal::BootstrapDone { index }),
        Some(_) | None => {}
    }
    txn.touch(Table::AclTokenBootstrap);
    put_token(txn, token)
}

fn put_policy(txn: &mut Txn, policy: &AclPolicy) {
    let mut policy = policy.clone();
    policy.create_index = txn.store.acl_policy(&policy.name).map_or(txn.index, |p| p.create_index);
    policy.modify_index = txn.index;
    let policy = Arc::new(policy);
    txn.store.put_acl_policy(policy.clone());
    txn.touch(Table::AclPolicy);
    txn.changes.push(Change::AclPolicy(policy));
}

fn remove_policy(txn: &mut Txn, name: &str) {
    txn.touch(Table::AclPolicy);
    if let Some(old) = txn.store.remove_acl_policy(name) {
        txn.changes.push(Change::AclPolicy(old));
    }
}

/// Writes a token. Secrets are unique, and roles exist.
fn put_token(txn: &mut Txn, token: &AclToken) -> Result<(), Refusal> {
    let taken = txn.store.acl_token_by_secret(token.secret_id.expose());
    if taken.is_some_and(|t| t.accessor_id != token.accessor_id) {
        return Err(Refusal::SecretTaken);
    }
    if let Some(link) = token.roles.iter().find(|link| txn.store.acl_role(&link.id).is_none()) {
        return Err(Refusal::RoleNotFound { role: link.id.clone() });
    }
    let mut token = token.clone();
    token.create_index = txn.store.acl_token(&token.accessor_id).map_or(txn.index, |t| t.create_index);
    token.modify_index = txn.index;
    let token = Arc::new(token);
    txn.store.put_acl_token(token.clone());
    txn.touch(Table::AclToken);
    txn.changes.push(Change::AclToken(token));
    Ok(())
}

fn remove_token(txn: &mut Txn, accessor: &str) -> Result<(), Refusal> {
    let gone = || Refusal::TokenNotFound { accessor: accessor.into() };
    let old = txn.store.remove_acl_token(accessor).ok_or_else(gone)?;
    txn.touch(Table::AclToken);
    txn.changes.push(Change::AclToken(old));
    Ok(())
}

/// Writes a role. Names are unique, and policies exist.
fn put_role(txn: &mut Txn, role: &AclRole) -> Result<(), Refusal> {
    if txn.store.acl_role_by_name(&role.name).is_some_and(|r| r.id != role.id) {
        return Err(Refusal::RoleNameTaken { name: role.name.clone() });
    }
    if let Some(link) = role.policies.iter().find(|link| txn.store.acl_policy(&link.name).is_none()) {
        return Err(Refusal::PolicyNotFound { name: link.name.clone() });
    }
    let mut role = role.clone();
    role.create_index = txn.store.acl_role(&role.id).map_or(txn.index, |r| r.create_index);
    role.modify_index = txn.index;
    let role = Arc::new(role);
    txn.store.put_acl_role(role.clone());
    txn.touch(Table::AclRoles);
    txn.changes.push(Change::AclRole(role));
    Ok(())
}

fn remove_role(txn: &mut Txn, id: &str) -> Result<(), Refusal> {
    let old = txn.store.remove_acl_role(id).ok_or_else(|| Refusal::RoleNotFound { role: id.into() })?;
    txn.touch(Table::AclRoles);
    txn.changes.push(Change::AclRole(old));
    Ok(())
}

/// Writes an auth method. At most one of a type is the default.
fn put_auth_method(txn: &mut Txn, method: &AclAuthMethod) -> Result<(), Refusal> {
    let is_other = |m: &&Arc<AclAuthMethod>| m.default && m.name != method.name && m.r#type == method.r#type;
    if method.default
        && let Some(other) = txn.store.acl_auth_methods().find(is_other)
    {
        return Err(Refusal::DefaultMethodTaken { kind: other.r#type.to_string(), name: other.name.clone() });
    }
    let mut method = method.clone();
    let old = txn.store.acl_auth_method(&method.name);
    (method.create_index, method.create_time) =
        old.map_or((txn.index, method.create_time), |o| (o.create_index, o.create_time));
    method.modify_index = txn.index;
    let method = Arc::new(method);
    txn.store.put_acl_auth_method(method.clone());
    txn.touch(Table::AclAuthMethods);
    txn.changes.push(Change::AclAuthMethod(method));
    Ok(())
}

fn remove_auth_method(txn: &mut Txn, name: &str) -> Result<(), Refusal> {
    let gone = || Refusal::AuthMethodNotFound { name: name.into() };
    let old = txn.store.remove_acl_auth_method(name).ok_or_else(gone)?;
    txn.touch(Table::AclAuthMethods);
    txn.changes.push(Change::AclAuthMethod(old));
    let rules = txn.store.acl_binding_rules().filter(|r| r.auth_method == name).map(|r| r.id.clone());
    rules.collect::<Vec<_>>().iter().try_for_each(|id| remove_binding_rule(txn, id))
}

fn put_binding_rule(txn: &mut Txn, rule: &AclBindingRule) -> Result<(), Refusal> {
    if txn.store.acl_auth_method(&rule.auth_method).is_none() {
        return Err(Refusal::AuthMethodNotFound { name: rule.auth_method.clone() });
    }
    let mut rule = rule.clone();
    let old = txn.store.acl_binding_rule(&rule.id);
    (rule.create_index, rule.create_time) =
        old.map_or((txn.index, rule.create_time), |o| (o.create_index, o.create_time));
    rule.modify_index = txn.index;
    let rule = Arc::new(rule);
    txn.store.put_acl_binding_rule(rule.clone());
    txn.touch(Table::AclBindingRules);
    txn.changes.push(Change::AclBindingRule(rule));
    Ok(())
}

fn remove_binding_rule(txn: &mut Txn, id: &str) -> Result<(), Refusal> {
    let old = txn.store.remove_acl_binding_rule(id).ok_or_else(|| Refusal::BindingRuleNotFound { id: id.into() })?;
    txn.touch(Table::AclBindingRules);
    txn.changes.push(Change::AclBindingRule(old));
    Ok(())
}

fn put_one_time_token(txn: &mut Txn, token: &OneTimeToken) {
    let token = OneTimeToken { create_index: txn.index, modify_index: txn.index, ..token.clone() };
    txn.store.put_one_time_token(Arc::new(token));
    txn.other(Table::OneTimeToken);
}

/// Removes a one-time token that is exchanged. Of two exchanges at the same time, one wins.
fn exchange(txn: &mut Txn, accessor: &str, index: u64) -> Result<(), Refusal> {
    match txn.store.remove_one_time_token(accessor) {
        Some(token) if token.create_index == index => {
            txn.other(Table::OneTimeToken);
            Ok(())
        }
        Some(_) | None => Err(Refusal::OneTimeTokenGone),
    }
}

fn expire(txn: &mut Txn, at: i64) {
    let expired = |t: &&Arc<OneTimeToken>| t.expires_at.unix_nanos().is_none_or(|e| e <= at);
    let ids: Vec<String> = txn.store.one_time_tokens().filter(expired).map(|t| t.accessor_id.clone()).collect();
    if ids.is_empty() {
        return;
    }
    for id in &ids {
        txn.store.remove_one_time_token(id);
    }
    txn.other(Table::OneTimeToken);
}
