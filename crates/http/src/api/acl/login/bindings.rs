//! What the claims of somebody say, and the token that the binding rules of a method give for it. No I/O.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::request::filter::Filter;
use encamp_model::*;
use encamp_state::StateStore;

/// What the claims of a token say, by the names that the method gives them: what selectors look into.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Identity {
    pub value: BTreeMap<String, String>,
    pub list: BTreeMap<String, Vec<String>>,
}

/// A claim by its name, or by a JSON pointer.
fn claim<'a>(claims: &'a Value, name: &str) -> Option<&'a Value> {
    if name.starts_with('/') { claims.pointer(name) } else { claims.get(name) }
}

/// A claim with one value, as text.
fn claim_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(bool) => Some(bool.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

impl Identity {
    pub(crate) fn of(claims: &Value, config: &AclAuthMethodConfig) -> Identity {
        let values = config.claim_mappings.iter();
        let value = values.filter_map(|(from, to)| Some((to.clone(), claim_text(claim(claims, from)?)?))).collect();
        let lists = config.list_claim_mappings.iter();
        let list = lists
            .filter_map(|(from, to)| {
                let found = match claim(claims, from)? {
                    Value::Array(list) => list.iter().filter_map(claim_text).collect(),
                    one => vec![claim_text(one)?],
                };
                Some((to.clone(), found))
            })
            .collect();
        Identity { value, list }
    }

    /// A text with `${value.…}` filled in; none if there is no such value.
    fn fill(&self, format: &str, more: &[(&str, &str)]) -> Option<String> {
        let mut out = String::new();
        let mut rest = format;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) = after.split_once('}')?;
            out.push_str(before);
            let own = name.strip_prefix("value.").and_then(|n| self.value.get(n)).map(String::as_str);
            out.push_str(own.or_else(|| more.iter().find(|(known, _)| *known == name).map(|(_, text)| *text))?);
            rest = behind;
        }
        out.push_str(rest);
        Some(out)
    }
}

/// The token that the binding rules of a method give to somebody.
pub(crate) fn bindings(store: &StateStore, method: &AclAuthMethod, identity: &Identity) -> Result<AclToken, Error> {
    let mut token = AclToken { r#type: AclTokenType::Client, ..Default::default() };
    for rule in store.acl_binding_rules().filter(|r| r.auth_method == method.name) {
        // A selector that names something else than values and lists matches nobody.
        let selects = |selector: &str| Filter::parse(selector).is_ok_and(|f| f.matches("Login", identity) == Ok(true));
        if !rule.selector.is_empty() && !selects(&rule.selector) {
            continue;
        }
        let Some(name) = identity.fill(&rule.bind_name, &[]) else { continue };
        match rule.bind_type {
            BindType::Management => token.r#type = AclTokenType::Management,
            BindType::Role => {
                let role = store.acl_role_by_name(&name);
                token.roles.extend(role.map(|r| AclTokenRoleLink { id: r.id.clone(), name: String::new() }));
            }
            BindType::Policy if store.acl_policy(&name).is_some() => token.policies.push(name),
            BindType::Policy | BindType::Unset | BindType::Other(_) => {}
        }
    }
    if token.r#type == AclTokenType::Management {
        (token.policies, token.roles) = (Vec::new(), Vec::new());
    } else if token.policies.is_empty() && token.roles.is_empty() {
        return Err(Error::bad("no role or policy bindings matched"));
    }
    let known = [("auth_method_type", method.r#type.as_str()), ("auth_method_name", &method.name)];
    token.name = identity.fill(&method.token_name_format, &known).unwrap_or_else(|| method.name.clone());
    token.global = method.token_locality == TokenLocality::Global;
    token.expiration_ttl = method.max_token_ttl;
    Ok(token)
}

#[cfg(test)]
#[path = "bindings_tests.rs"]
mod tests;
