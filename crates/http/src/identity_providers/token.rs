//! Checks of JSON Web Tokens: signature, times, issuer, audience; of ID tokens also what ties them to a login
//! (OpenID Connect Core 1.0 §3.1.3.7). No I/O: keys and time are parameters.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, Validation};
use serde_json::Value;
use subtle::ConstantTimeEq;

use super::keys::{NotAKey, VerifyingKeys};
use encamp_model::{AclAuthMethodConfig, SECOND};

/// How much clocks may differ, where the method does not say.
const SKEW: i64 = 60 * SECOND;
/// How long a token without an end is valid, where the method does not say.
const LEEWAY: i64 = 150 * SECOND;

/// Why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// A key of the method cannot be read.
    #[error("unable to parse public key for JWT auth: {0}")]
    Key(#[from] NotAKey),
    /// The token is no JSON Web Token.
    #[error("{0}")]
    Malformed(String),
    /// The token has a header that a verifier has to understand (RFC 7515 §4.1.11); there is none such.
    #[error("the token has critical headers (crit)")]
    Critical,
    /// No key of the method signed it.
    #[error("{0}")]
    Signature(String),
    /// The key that the token names is not one of the provider.
    #[error("the token is signed with a key that the identity provider does not have")]
    UnknownKey,
    /// The algorithm of the token is not one of the method.
    #[error("the signing algorithm {0} is not one of the auth method")]
    Algorithm(String),
    /// The token has no time at all.
    #[error("no issued at (iat), not before (nbf), or expiration time (exp) claims in token")]
    NoTime,
    /// An ID token has no end.
    #[error("no expiration time (exp) claim in token")]
    NoEnd,
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
    /// The token is for another client.
    #[error("invalid authorized party (azp) claim")]
    AuthorizedParty,
    /// The token belongs to another login.
    #[error("invalid nonce claim")]
    Nonce,
    /// The token does not say whom it is about.
    #[error("no subject (sub) claim in token")]
    Subject,
}

impl Refused {
    /// Whether keys that the provider has made since may verify the token.
    pub(crate) fn may_be_new_key(&self) -> bool {
        matches!(self, Refused::UnknownKey | Refused::Signature(_))
    }
}

/// The claims of a token that one of the keys signed, and that is valid at `now`, in Unix nanoseconds. `issuer`: that
/// of the provider; it counts where the method names none.
pub(crate) fn verified(
    config: &AclAuthMethodConfig,
    keys: &VerifyingKeys,
    issuer: Option<&str>,
    token: &str,
    now: i64,
) -> Result<Value, Refused> {
    let header = jsonwebtoken::decode_header(token).map_err(|e| Refused::Malformed(e.to_string()))?;
    if has_critical_headers(token) {
        return Err(Refused::Critical);
    }
    let allowed = &config.signing_algs;
    let name = format!("{:?}", header.alg);
    let symmetric = matches!(header.alg, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512);
    if symmetric || (!allowed.is_empty() && !allowed.contains(&name)) {
        return Err(Refused::Algorithm(name));
    }
    let mut validation = Validation::new(header.alg);
    // Times, issuer and audience are checked below, with the leeways of the method.
    validation.required_spec_claims.clear();
    (validation.validate_exp, validation.validate_nbf, validation.validate_aud) = (false, false, false);
    // Keys without an ID may be any; so may those for a token that names none.
    let named = |id: &Option<String>| id.is_none() || header.kid.is_none() || *id == header.kid;
    let named: Vec<_> = keys.0.iter().filter(|k| named(&k.id)).collect();
    let mut failed = if named.is_empty() { Refused::UnknownKey } else { Refused::Algorithm(name) };
    for key in named.into_iter().filter(|k| k.algorithms.contains(&header.alg)) {
        match jsonwebtoken::decode::<Value>(token, &key.key, &validation) {
            Ok(decoded) => {
                check_times(&decoded.claims, config, now)?;
                check_names(&decoded.claims, config, issuer)?;
                return Ok(decoded.claims);
            }
            Err(e) => failed = Refused::Signature(e.to_string()),
        }
    }
    Err(failed)
}

/// Whether a token has the header `crit`, which `jsonwebtoken` leaves out.
fn has_critical_headers(token: &str) -> bool {
    let header = token.split('.').next().and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let header = header.and_then(|json| serde_json::from_slice::<Value>(&json).ok());
    header.is_some_and(|header| header.get("crit").is_some())
}

/// Checks what ties an ID token to a login: the client that it is for, and its nonce. The issuer was checked by
/// [`verified`] unless the method names its own, which then has to be the provider's as well.
pub(crate) fn check_id_token(claims: &Value, issuer: &str, client_id: &str, nonce: &str) -> Result<(), Refused> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("iss") != Some(issuer) {
        return Err(Refused::Issuer);
    }
    let audiences = texts(claims, "aud");
    if !audiences.iter().any(|a| a == client_id) {
        return Err(Refused::Audience);
    }
    let party = claims.get("azp").filter(|azp| !azp.is_null());
    if party.map_or(audiences.len() > 1, |azp| azp.as_str() != Some(client_id)) {
        return Err(Refused::AuthorizedParty);
    }
    if claims.get("exp").and_then(Value::as_f64).is_none() {
        return Err(Refused::NoEnd);
    }
    let own = text("nonce").unwrap_or_default();
    if nonce.is_empty() || !bool::from(own.as_bytes().ct_eq(nonce.as_bytes())) {
        return Err(Refused::Nonce);
    }
    text("sub").filter(|s| !s.is_empty()).map(drop).ok_or(Refused::Subject)
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
    if now > end.saturating_add(skew) {
        return Err(Refused::Expired);
    }
    // A token without `nbf` and `iat` is valid from now on, as long as it is not expired.
    if begin.is_some_and(|begin| now < begin.saturating_sub(skew)) {
        return Err(Refused::NotYet);
    }
    Ok(())
}

/// A claim that is a text or a list of them.
fn texts(claims: &Value, name: &str) -> Vec<String> {
    match claims.get(name) {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(list)) => list.iter().filter_map(|v| v.as_str().map(String::from)).collect(),
        _ => Vec::new(),
    }
}

fn check_names(claims: &Value, config: &AclAuthMethodConfig, issuer: Option<&str>) -> Result<(), Refused> {
    let bound = |accepted: &[String], own: Vec<String>| accepted.is_empty() || own.iter().any(|o| accepted.contains(o));
    let issued = match issuer {
        Some(issuer) if config.bound_issuer.is_empty() => claims.get("iss").and_then(Value::as_str) == Some(issuer),
        _ => bound(&config.bound_issuer, texts(claims, "iss")),
    };
    if !issued {
        return Err(Refused::Issuer);
    }
    if bound(&config.bound_audiences, texts(claims, "aud")) { Ok(()) } else { Err(Refused::Audience) }
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
