//! Logins with tokens of other systems (`docs/spec/http-api.md §7.9`).
//!
//! [`verified`] checks a JSON Web Token with the keys of an auth method, [`Identity`] is what its claims say, and
//! [`bindings`] is what the binding rules give for it. These are pure: the time is a parameter.

use std::collections::BTreeMap;
use std::sync::Arc;

use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{enabled, with_secret};
use crate::error::Error;
use crate::filter::Filter;
use crate::request::Request;
use crate::route::Outcome;
use encamp_host::ids;
use encamp_model::json::or_default;
use encamp_model::*;
use encamp_server::endpoints::acl::tokens;
use encamp_state::StateStore;

/// The longest token.
const LONGEST: usize = 64 << 10;
/// How much clocks may differ, where the method does not say.
const SKEW: i64 = 60 * SECOND;
/// How long a token without an end is valid, where the method does not say.
const LEEWAY: i64 = 150 * SECOND;

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct LoginRequest {
    #[serde(deserialize_with = "or_default")]
    auth_method_name: String,
    #[serde(deserialize_with = "or_default")]
    login_token: SecretString,
}

/// Why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Refused {
    /// A key of the method cannot be read.
    #[error("unable to parse public key for JWT auth: {0}")]
    Key(String),
    /// The keys of the method are not in the method.
    #[error("the keys of the auth method have to be in JWTValidationPubKeys")]
    RemoteKeys,
    /// The token is no JSON Web Token, or no key of the method signed it.
    #[error("{0}")]
    Signature(String),
    /// The algorithm of the token is not one of the method.
    #[error("the signing algorithm {0} is not one of the auth method")]
    Algorithm(String),
    /// The token has no time at all.
    #[error("no issued at (iat), not before (nbf), or expiration time (exp) claims in token")]
    NoTime,
    /// The token is not valid any more.
    #[error("invalid expiration time (exp) claim: token is expired")]
    Expired,
    /// The token is not valid yet.
    #[error("invalid not before (nbf) claim: token not yet valid")]
    NotYet,
    /// The issuer is another one.
    #[error("invalid issuer (iss) claim")]
    Issuer,
    /// The audience is another one.
    #[error("invalid audience (aud) claim")]
    Audience,
}

/// `PUT /v1/acl/login`.
pub(crate) async fn login(mut request: Request) -> Outcome {
    request.check_region()?;
    let body: LoginRequest = request.json().await?;
    request.concerns("auth_method", &body.auth_method_name);
    enabled(&request)?;
    let server = request.server()?;
    server.wait_ready().await?;
    let snapshot = server.snapshot();
    let method = find(&snapshot, &body.auth_method_name)?;
    if body.login_token.len() > LONGEST {
        return Err(Error::new(413, format!("the login token is longer than {} KiB", LONGEST >> 10)));
    }
    let claims = verified(&method, body.login_token.expose(), ids::now())
        .map_err(|e| Error::new(401, format!("unable to validate provided token: {e}")))?;
    let config = method.config.clone().unwrap_or_default();
    let identity = Identity::of(&claims, &config);
    let token = bindings(&snapshot, &method, &identity)?;
    let (token, index) = tokens::upsert(server, token).await?;
    request.concerns("token", &token.accessor_id);
    Ok(with_secret(&token)?.index(index))
}

/// `PUT /v1/acl/oidc/auth-url`, `PUT /v1/acl/oidc/complete-auth`.
pub(crate) async fn oidc(request: Request) -> Outcome {
    enabled(&request)?;
    Err(Error::bad("auth methods of type OIDC cannot be used: use a method of type JWT with the keys of the provider"))
}

/// The method of a login; of no name, the default one.
fn find(store: &StateStore, name: &str) -> Result<Arc<AclAuthMethod>, Error> {
    let jwt = |m: &&Arc<AclAuthMethod>| m.r#type == AuthMethodType::Jwt;
    let found = match name {
        "" => store.acl_auth_methods().filter(jwt).find(|m| m.default),
        name => store.acl_auth_method(name).filter(jwt),
    };
    found.cloned().ok_or_else(|| Error::bad(format!("auth-method {} not found", quoted(name))))
}

/// The algorithms that a key of a PEM file verifies, and the key for each.
fn keys(pem: &str) -> Result<Vec<(&'static [Algorithm], DecodingKey)>, Refused> {
    const RSA: &[Algorithm] =
        &[Algorithm::RS256, Algorithm::RS384, Algorithm::RS512, Algorithm::PS256, Algorithm::PS384, Algorithm::PS512];
    let bytes = pem.as_bytes();
    let mut out = Vec::new();
    let rsa = DecodingKey::from_rsa_pem(bytes);
    let failed = rsa.as_ref().err().map(ToString::to_string);
    out.extend(rsa.ok().map(|key| (RSA, key)));
    out.extend(DecodingKey::from_ec_pem(bytes).ok().map(|key| (&[Algorithm::ES256, Algorithm::ES384][..], key)));
    out.extend(DecodingKey::from_ed_pem(bytes).ok().map(|key| (&[Algorithm::EdDSA][..], key)));
    if out.is_empty() { Err(Refused::Key(failed.unwrap_or_default())) } else { Ok(out) }
}

/// The claims of a token that one of the keys of the method signed, and that is valid at `now`.
fn verified(method: &AclAuthMethod, token: &str, now: i64) -> Result<Value, Refused> {
    let config = method.config.clone().unwrap_or_default();
    if config.jwt_validation_pub_keys.is_empty() {
        return Err(Refused::RemoteKeys);
    }
    let mut all = Vec::new();
    for pem in &config.jwt_validation_pub_keys {
        all.extend(keys(pem)?);
    }
    let header = jsonwebtoken::decode_header(token).map_err(|e| Refused::Signature(e.to_string()))?;
    let allowed = &config.signing_algs;
    let name = format!("{:?}", header.alg);
    if !allowed.is_empty() && !allowed.contains(&name) {
        return Err(Refused::Algorithm(name));
    }
    let mut validation = Validation::new(header.alg);
    // Times, issuer and audience are checked below, with the leeways of the method.
    validation.required_spec_claims.clear();
    (validation.validate_exp, validation.validate_nbf, validation.validate_aud) = (false, false, false);
    let mut failed = Refused::Algorithm(name);
    for (_, key) in all.iter().filter(|(algorithms, _)| algorithms.contains(&header.alg)) {
        match jsonwebtoken::decode::<Value>(token, key, &validation) {
            Ok(decoded) => {
                check_times(&decoded.claims, &config, now)?;
                check_names(&decoded.claims, &config)?;
                return Ok(decoded.claims);
            }
            Err(e) => failed = Refused::Signature(e.to_string()),
        }
    }
    Err(failed)
}

/// Nanoseconds of a leeway: negative means none, 0 the default.
fn leeway(given: i64, default: i64) -> i64 {
    match given {
        0 => default,
        given => given.max(0),
    }
}

fn check_times(claims: &Value, config: &AclAuthMethodConfig, now: i64) -> Result<(), Refused> {
    let time = |name: &str| {
        let seconds = claims.get(name)?.as_f64()?;
        // Far beyond all times there are, and within the range of nanoseconds.
        Some((seconds.clamp(0.0, 9.0e9) as i64).saturating_mul(SECOND))
    };
    let (issued, not_before, expires) = (time("iat"), time("nbf"), time("exp"));
    let skew = leeway(config.clock_skew_leeway, SKEW);
    let begin = not_before.or(issued);
    let end = expires.or_else(|| Some(begin?.saturating_add(leeway(config.expiration_leeway, LEEWAY))));
    let end = end.ok_or(Refused::NoTime)?;
    let begin = begin.unwrap_or_else(|| end.saturating_sub(leeway(config.not_before_leeway, LEEWAY)));
    if now > end.saturating_add(skew) {
        return Err(Refused::Expired);
    }
    // A token without `nbf` and `iat` is valid from now on, as long as it is not expired.
    if (not_before.is_some() || issued.is_some()) && now < begin.saturating_sub(skew) {
        return Err(Refused::NotYet);
    }
    Ok(())
}

fn check_names(claims: &Value, config: &AclAuthMethodConfig) -> Result<(), Refused> {
    let texts = |name: &str| -> Vec<String> {
        match claims.get(name) {
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(list)) => list.iter().filter_map(|v| v.as_str().map(String::from)).collect(),
            _ => Vec::new(),
        }
    };
    let bound = |accepted: &[String], own: Vec<String>| accepted.is_empty() || own.iter().any(|o| accepted.contains(o));
    if !bound(&config.bound_issuer, texts("iss")) {
        return Err(Refused::Issuer);
    }
    if !bound(&config.bound_audiences, texts("aud")) {
        return Err(Refused::Audience);
    }
    Ok(())
}

/// What the claims of a token say, by the names that the method gives them: what selectors look into.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Identity {
    value: BTreeMap<String, String>,
    list: BTreeMap<String, Vec<String>>,
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
    fn of(claims: &Value, config: &AclAuthMethodConfig) -> Identity {
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
fn bindings(store: &StateStore, method: &AclAuthMethod, identity: &Identity) -> Result<AclToken, Error> {
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
mod tests {
    use jsonwebtoken::{EncodingKey, Header, encode};
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_795_243_431;
    /// Keys made for this test.
    const PRIVATE: &str = include_str!("login_test_key.pem");
    const PUBLIC: &str = include_str!("login_test_key.pub.pem");

    fn method() -> AclAuthMethod {
        let config = AclAuthMethodConfig {
            jwt_validation_pub_keys: vec![PUBLIC.into()],
            bound_audiences: vec!["nomad".into()],
            bound_issuer: vec!["https://issuer.test".into()],
            claim_mappings: BTreeMap::from([("email".into(), "email".into()), ("/a/b".into(), "deep".into())]),
            list_claim_mappings: BTreeMap::from([("groups".into(), "groups".into())]),
            ..Default::default()
        };
        AclAuthMethod {
            name: "jwt".into(),
            r#type: AuthMethodType::Jwt,
            max_token_ttl: HOUR,
            token_locality: TokenLocality::Local,
            token_name_format: "${auth_method_type}-${value.email}".into(),
            config: Some(config),
            ..Default::default()
        }
    }

    fn claims() -> Value {
        json!({
            "iss": "https://issuer.test", "aud": ["nomad", "other"], "exp": NOW + 60, "iat": NOW - 60,
            "email": "a@example.test", "groups": ["ops", "dev"], "a": {"b": 7},
        })
    }

    fn signed(claims: &Value) -> String {
        let key = EncodingKey::from_ec_pem(PRIVATE.as_bytes()).expect("a key");
        encode(&Header::new(Algorithm::ES256), claims, &key).expect("a token")
    }

    fn told(claims: &Value, at: i64) -> Result<(), Refused> {
        verified(&method(), &signed(claims), at * SECOND).map(drop)
    }

    #[test]
    fn tokens_are_checked() {
        let with = |name: &str, value: Value| {
            let mut c = claims();
            c[name] = value;
            c
        };
        assert_eq!(told(&claims(), NOW), Ok(()));
        for (claims, at, want) in [
            (claims(), NOW + 120, Ok(())),
            (claims(), NOW + 121, Err(Refused::Expired)),
            (claims(), NOW - 120, Ok(())),
            (claims(), NOW - 121, Err(Refused::NotYet)),
            (with("iss", json!("https://other.test")), NOW, Err(Refused::Issuer)),
            (with("aud", json!("other")), NOW, Err(Refused::Audience)),
            (with("aud", json!(null)), NOW, Err(Refused::Audience)),
            (with("exp", json!(1e300)), NOW, Ok(())),
        ] {
            assert_eq!(told(&claims, at), want, "{claims} {at}");
        }
        let mut timeless = claims();
        for name in ["exp", "iat"] {
            timeless.as_object_mut().expect("an object").remove(name);
        }
        assert_eq!(told(&timeless, NOW), Err(Refused::NoTime));
    }

    #[test]
    fn forged_tokens_are_refused() {
        let good = signed(&claims());
        let parts: Vec<&str> = good.split('.').collect();
        // No signature, and a header that asks for none; a public key as a secret.
        let none = format!("eyJhbGciOiJub25lIn0.{}.", parts[1]);
        let secret = EncodingKey::from_secret(PUBLIC.as_bytes());
        let confused = encode(&Header::new(Algorithm::HS256), &claims(), &secret).expect("a token");
        let cut = good.get(..good.len() - 4).expect("a part");
        for token in [none.as_str(), &confused, cut, "", "a.b.c", parts[1]] {
            assert!(verified(&method(), token, NOW * SECOND).is_err(), "{token}");
        }
        let mut other = method();
        if let Some(c) = &mut other.config {
            c.signing_algs = vec!["RS256".into()];
        }
        assert_eq!(verified(&other, &good, NOW * SECOND), Err(Refused::Algorithm("ES256".into())));
        if let Some(c) = &mut other.config {
            c.jwt_validation_pub_keys = vec!["no key".into()];
        }
        assert!(matches!(verified(&other, &good, NOW * SECOND), Err(Refused::Key(_))));
    }

    #[test]
    fn rules_give_roles_and_policies() {
        let mut store = StateStore::new();
        let (method, config) = (method(), method().config.expect("a config"));
        let policy = |name: &str| Arc::new(AclPolicy { name: name.into(), ..Default::default() });
        store.put_acl_policy(policy("dev"));
        store.put_acl_policy(policy("team-a@example.test"));
        store.put_acl_role(Arc::new(AclRole { id: "r1".into(), name: "ops".into(), ..Default::default() }));
        let identity = Identity::of(&claims(), &config);
        assert_eq!(identity.value["deep"], "7");
        let mut put = |id: &str, r#type: BindType, name: &str, selector: &str| {
            store.put_acl_binding_rule(Arc::new(AclBindingRule {
                id: id.into(),
                auth_method: "jwt".into(),
                bind_type: r#type,
                bind_name: name.into(),
                selector: selector.into(),
                ..Default::default()
            }));
        };
        put("1", BindType::Policy, "dev", "\"dev\" in list.groups");
        put("2", BindType::Policy, "gone", "");
        put("3", BindType::Role, "ops", "value.email == \"a@example.test\"");
        put("4", BindType::Policy, "dev", "value.email == \"b@example.test\"");
        put("5", BindType::Policy, "${value.missing}", "");
        put("6", BindType::Policy, "team-${value.email}", "");
        put("7", BindType::Management, "", "\"admins\" in list.groups");
        put("8", BindType::Management, "", "value.nothing == \"x\"");
        let token = bindings(&store, &method, &identity).expect("a token");
        assert_eq!((token.policies, token.roles.len()), (vec!["dev".to_string(), "team-a@example.test".into()], 1));
        assert_eq!((token.name.as_str(), token.expiration_ttl, token.global), ("JWT-a@example.test", HOUR, false));
        let nobody = bindings(&store, &AclAuthMethod { name: "other".into(), ..method.clone() }, &identity);
        assert_eq!(nobody.map_err(|e| e.message), Err("no role or policy bindings matched".into()));
        let mut admin = identity;
        admin.list.insert("groups".into(), vec!["admins".into()]);
        let token = bindings(&store, &method, &admin).expect("a token");
        assert!(token.r#type == AclTokenType::Management && token.roles.is_empty());
    }
}
