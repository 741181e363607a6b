//! Auth methods and their binding rules (`docs/spec/http-api.md §7.9`).

use std::sync::Arc;

use super::{check_description, check_texts, commit, invalid};
use crate::error::Error;
use crate::leading::Leading;
use crate::settings::AclSettings;
use encamp_host::ids;
use encamp_model::requests::AclBindingRuleRequest;
use encamp_model::*;
use encamp_ops::AclChange;
use encamp_state::StateStore;

/// What a client secret is shown as.
const REDACTED: &str = "redacted";
/// The most entries of a list or map of a method.
const MOST_ENTRIES: usize = 100;
/// The longest text of the settings of a method, in bytes: a chain of certificates.
const LONGEST_TEXT: usize = 64 << 10;
/// The longest `TokenNameFormat`, in bytes.
const LONGEST_NAME_FORMAT: usize = 1024;
/// The longest selector of a binding rule, in bytes.
const LONGEST_SELECTOR: usize = 4096;
/// The longest name that a binding rule gives, in bytes.
const LONGEST_BIND_NAME: usize = 1024;
/// How tokens are named if the method does not say.
const NAME_FORMAT: &str = "${auth_method_type}-${auth_method_name}";

/// Writes an auth method. Returns it and the index.
///
/// # Errors
/// 400: a member is invalid, or there is no leader.
pub async fn upsert(server: &Leading, mut method: AclAuthMethod) -> Result<(Arc<AclAuthMethod>, u64), Error> {
    server.wait_ready().await?;
    let snapshot = server.snapshot();
    let known = snapshot.acl_auth_method(&method.name);
    if let (Some(config), Some(old)) = (&mut method.config, known.and_then(|m| m.config.as_ref())) {
        keep_secrets(config, old);
    }
    if method.token_name_format.is_empty() {
        method.token_name_format = NAME_FORMAT.into();
    }
    let mut wrong = check(&method, &server.settings().acl);
    wrong.extend(check_default(&snapshot, &method));
    if !wrong.is_empty() {
        return Err(invalid("auth method", &wrong));
    }
    let now = Time::from_unix_nanos(ids::now());
    (method.create_time, method.modify_time) = (now, now);
    method.hash = Some(method.compute_hash());
    let name = method.name.clone();
    let index = commit(server, AclChange::AuthMethodUpsert(vec![method])).await?;
    let snapshot = server.snapshot();
    let method = snapshot.acl_auth_method(&name).ok_or_else(|| Error::not_found("ACL auth-method not found"))?;
    Ok((shown(method), index))
}

/// A client that writes back what it was shown does not change secrets.
fn keep_secrets(config: &mut AclAuthMethodConfig, old: &AclAuthMethodConfig) {
    if config.oidc_client_secret.expose() == REDACTED {
        config.oidc_client_secret = old.oidc_client_secret.clone();
    }
    if let (Some(new), Some(old)) = (&mut config.oidc_client_assertion, &old.oidc_client_assertion) {
        if new.client_secret.expose() == REDACTED {
            new.client_secret = old.client_secret.clone();
        }
        if let (Some(new), Some(old)) = (&mut new.private_key, &old.private_key)
            && new.pem_key.expose() == REDACTED
        {
            new.pem_key = old.pem_key.clone();
        }
    }
}

/// An auth method as it is shown: without its secrets.
pub fn shown(method: &Arc<AclAuthMethod>) -> Arc<AclAuthMethod> {
    let hide = |secret: &mut SecretString| {
        if !secret.is_empty() {
            *secret = REDACTED.to_string().into();
        }
    };
    let mut method = AclAuthMethod::clone(method);
    if let Some(config) = &mut method.config {
        hide(&mut config.oidc_client_secret);
        if let Some(assertion) = &mut config.oidc_client_assertion {
            hide(&mut assertion.client_secret);
            if let Some(key) = &mut assertion.private_key {
                hide(&mut key.pem_key);
            }
        }
    }
    Arc::new(method)
}

fn check(method: &AclAuthMethod, limits: &AclSettings) -> Vec<String> {
    let mut wrong = check_texts(&method.name, "");
    if !method.r#type.is_known() {
        wrong.push(format!("invalid token type '{}'", method.r#type));
    }
    if !method.token_locality.is_known() {
        wrong.push(format!("invalid token locality '{}'", method.token_locality));
    }
    let ttl = method.max_token_ttl;
    if ttl < limits.min_ttl || ttl > limits.max_ttl {
        let [ttl, min, max] = [ttl, limits.min_ttl, limits.max_ttl].map(format_duration);
        wrong.push(format!("invalid MaxTokenTTL value '{ttl}' (should be between {min} and {max})"));
    }
    if method.token_name_format.len() > LONGEST_NAME_FORMAT {
        wrong.push(format!("token name format longer than {LONGEST_NAME_FORMAT}"));
    }
    wrong.extend(method.config.iter().flat_map(check_sizes));
    match (&method.config, &method.r#type) {
        (None, _) => wrong.push("auth method config must not be empty".into()),
        (Some(c), AuthMethodType::Jwt) => {
            let given =
                [!c.jwt_validation_pub_keys.is_empty(), !c.jwks_url.is_empty(), !c.oidc_discovery_url.is_empty()];
            if given.into_iter().filter(|g| *g).count() != 1 {
                let text = "exactly one of JWTValidationPubKeys, JWKSURL or OIDCDiscoveryURL must be set";
                wrong.push(text.into());
            }
        }
        (Some(c), AuthMethodType::Oidc) => {
            // Redirections may follow later: no login can begin until there are any.
            for (name, missing) in
                [("OIDCDiscoveryURL", c.oidc_discovery_url.is_empty()), ("OIDCClientID", c.oidc_client_id.is_empty())]
            {
                if missing {
                    wrong.push(format!("missing {name}"));
                }
            }
        }
        (Some(_), AuthMethodType::Unset | AuthMethodType::Other(_)) => {}
    }
    wrong
}

/// What in the settings of a method is too large.
fn check_sizes(c: &AclAuthMethodConfig) -> Vec<String> {
    let lists = [
        ("JWTValidationPubKeys", &c.jwt_validation_pub_keys),
        ("OIDCScopes", &c.oidc_scopes),
        ("BoundAudiences", &c.bound_audiences),
        ("BoundIssuer", &c.bound_issuer),
        ("AllowedRedirectURIs", &c.allowed_redirect_uris),
        ("DiscoveryCaPem", &c.discovery_ca_pem),
        ("SigningAlgs", &c.signing_algs),
    ];
    let maps = [("ClaimMappings", &c.claim_mappings), ("ListClaimMappings", &c.list_claim_mappings)];
    let lengths = lists.iter().map(|(n, list)| (*n, list.len())).chain(maps.iter().map(|(n, map)| (*n, map.len())));
    let long = lengths.filter(|(_, length)| *length > MOST_ENTRIES);
    let mut wrong: Vec<String> = long.map(|(n, _)| format!("{n} has more than {MOST_ENTRIES} entries")).collect();
    let texts = [&c.jwks_url, &c.jwks_ca_cert, &c.oidc_discovery_url, &c.oidc_client_id];
    let entries = lists
        .iter()
        .flat_map(|(_, list)| list.iter())
        .chain(maps.iter().flat_map(|(_, map)| map.iter().flat_map(|(from, to)| [from, to])));
    let lengths = texts.into_iter().chain(entries).map(String::len);
    let assertion = c.oidc_client_assertion.iter().flat_map(|a| {
        let key = a.private_key.iter().flat_map(|k| {
            [k.pem_key.len(), k.pem_key_file.len(), k.pem_cert.len(), k.pem_cert_file.len(), k.key_id.len()]
        });
        let headers = a.extra_headers.iter().map(|(name, value)| name.len() + value.len());
        [a.client_secret.len()].into_iter().chain(a.audience.iter().map(String::len)).chain(headers).chain(key)
    });
    if lengths.chain(assertion).chain([c.oidc_client_secret.len()]).any(|length| length > LONGEST_TEXT) {
        wrong.push(format!("a text of the config is longer than {LONGEST_TEXT} bytes"));
    }
    if let Some(a) = &c.oidc_client_assertion
        && (a.audience.len() > MOST_ENTRIES || a.extra_headers.len() > MOST_ENTRIES)
    {
        wrong.push(format!("OIDCClientAssertion has a list with more than {MOST_ENTRIES} entries"));
    }
    wrong
}

/// At most one method of a type is the default.
fn check_default(store: &StateStore, method: &AclAuthMethod) -> Option<String> {
    let mut others = store.acl_auth_methods().filter(|m| m.name != method.name && m.r#type == method.r#type);
    let other = others.find(|m| method.default && m.default)?;
    Some(format!("default method for type {} already exists: {}", method.r#type, other.name))
}

/// Removes an auth method with its binding rules. Returns the index.
///
/// # Errors
/// 400: the method does not exist, or there is no leader.
pub async fn delete(server: &Leading, name: &str) -> Result<u64, Error> {
    server.wait_ready().await?;
    commit(server, AclChange::AuthMethodDelete(vec![name.into()])).await
}

/// The binding rule that a request describes: a new one, or the stored one with the members of the request.
fn described(store: &StateStore, new: AclBindingRuleRequest) -> Result<AclBindingRule, Error> {
    let old = match new.id.as_str() {
        "" => AclBindingRule { id: ids::uuid(), ..Default::default() },
        id => {
            let old = store.acl_binding_rule(id).map(|r| AclBindingRule::clone(r));
            old.ok_or_else(|| Error::bad(format!("cannot find binding rule {id}")))?
        }
    };
    // A name is of the kind that it was given with.
    let other = new.bind_type.as_ref().is_some_and(|t| *t != old.bind_type);
    let name = if other { String::new() } else { old.bind_name };
    Ok(AclBindingRule {
        description: new.description.unwrap_or(old.description),
        auth_method: new.auth_method.filter(|name| !name.is_empty()).unwrap_or(old.auth_method),
        selector: new.selector.unwrap_or(old.selector),
        bind_type: new.bind_type.unwrap_or(old.bind_type),
        bind_name: new.bind_name.unwrap_or(name),
        ..old
    })
}

/// Writes a binding rule: a new one if it has no ID. Returns it and the index.
///
/// # Errors
/// 400: a member is invalid, or there is no leader.
pub async fn upsert_rule(server: &Leading, new: AclBindingRuleRequest) -> Result<(Arc<AclBindingRule>, u64), Error> {
    server.wait_ready().await?;
    let snapshot = server.snapshot();
    let mut rule = described(&snapshot, new)?;
    let mut wrong: Vec<String> = Vec::new();
    if rule.auth_method.is_empty() {
        wrong.push("auth method is missing".into());
    }
    wrong.extend(check_description(&rule.description));
    if rule.selector.len() > LONGEST_SELECTOR {
        wrong.push(format!("selector longer than {LONGEST_SELECTOR}"));
    }
    if rule.bind_name.len() > LONGEST_BIND_NAME {
        wrong.push(format!("bind name longer than {LONGEST_BIND_NAME}"));
    }
    match (&rule.bind_type, rule.bind_name.is_empty()) {
        (BindType::Role | BindType::Policy, true) => wrong.push("bind name is missing".into()),
        (BindType::Management, false) => wrong.push("bind name should be empty".into()),
        (BindType::Role | BindType::Policy, false) | (BindType::Management, true) => {}
        (BindType::Unset | BindType::Other(_), _) => {
            wrong.push(format!("unsupported bind type: {}", quoted(rule.bind_type.as_str())));
        }
    }
    if !wrong.is_empty() {
        return Err(invalid("binding rule", &wrong));
    }
    if snapshot.acl_auth_method(&rule.auth_method).is_none() {
        return Err(Error::bad(format!("ACL auth method {} not found", rule.auth_method)));
    }
    let now = Time::from_unix_nanos(ids::now());
    (rule.create_time, rule.modify_time) = (now, now);
    rule.hash = Some(rule.compute_hash());
    let id = rule.id.clone();
    let index = commit(server, AclChange::BindingRuleUpsert(vec![rule])).await?;
    let snapshot = server.snapshot();
    let rule = snapshot.acl_binding_rule(&id).ok_or_else(|| Error::not_found("ACL binding rule not found"))?;
    Ok((rule.clone(), index))
}

/// Removes a binding rule. Returns the index.
///
/// # Errors
/// 400: the rule does not exist, or there is no leader.
pub async fn delete_rule(server: &Leading, id: &str) -> Result<u64, Error> {
    server.wait_ready().await?;
    commit(server, AclChange::BindingRuleDelete(vec![id.into()])).await
}
