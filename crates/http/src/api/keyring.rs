//! Root keys and their public parts (`docs/spec/http-api.md §5.15, §9, §10.4`).

use axum::http::header;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde_json::json;

use crate::error::Error;
use crate::request::Request;
use crate::request::params::{decimal_int, parse_bool};
use crate::request::response::{Outcome, Response};
use encamp_host::ids::{now, random_below};
use encamp_model::{RootKey, SECOND};
use encamp_server::endpoints::keyring as rules;
use encamp_server::endpoints::keyring::Rotation;
use encamp_server::keyring::{jwt, published};
use encamp_server::storage::watch::WatchKey;
use encamp_state::Table;

/// How long the list of public keys may be kept at least, in seconds.
const MAX_AGE: u64 = 900;

pub(crate) async fn delete(request: Request) -> Outcome {
    request.check_region()?;
    let force = match request.query().get("force") {
        "" => false,
        text => parse_bool(text).map_err(|_| Error::new(422, "invalid force parameter"))?,
    };
    request.authorize()?;
    let index = rules::delete(request.server()?, request.id(), force).await?;
    Ok(Response::json(&json!({ "Index": index }))?.index(index))
}

pub(crate) async fn list(request: Request) -> Outcome {
    let options = request.read_options()?;
    let read = request.blocking(&options, vec![WatchKey::Table(Table::RootKeys)], |store| {
        let keys: Vec<RootKey> = store.root_keys().map(|k| k.meta.clone()).collect();
        Ok((store.index_of(Table::RootKeys), keys))
    });
    let (keys, meta) = read.await?;
    Ok(Response::json(&keys)?.meta(&meta))
}

pub(crate) async fn rotate(request: Request) -> Outcome {
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Body {
        key: RootKey,
        index: u64,
    }
    request.check_region()?;
    request.authorize()?;
    let full = request.query().has("full");
    let publish = request.query().get("publish_time");
    let publish = match publish {
        "" => 0,
        text => decimal_int(text).map_err(|e| Error::internal(format!("invalid publish_time: {e}")))?,
    };
    let rotation = match (full, publish) {
        (true, 0) => Rotation::Full,
        (false, 0) => Rotation::Now,
        (false, time) => Rotation::At(time),
        (true, _) => {
            let text = "keyring cannot be prepublished and full rotated at the same time";
            return Err(Error::internal(text));
        }
    };
    let (key, index) = rules::rotate(request.server()?, rotation).await?;
    Ok(Response::json(&Body { key, index })?.index(index))
}

#[derive(Serialize)]
struct Jwk {
    alg: &'static str,
    e: String,
    kid: String,
    kty: &'static str,
    n: String,
    r#use: &'static str,
}

pub(crate) async fn jwks(request: Request) -> Outcome {
    let options = request.read_options()?;
    let server = request.server()?.clone();
    let read = request.blocking(&options, vec![WatchKey::Table(Table::RootKeys)], |store| {
        let shown = store.root_keys().filter(|k| published(k));
        let keys: Vec<Jwk> = shown.filter_map(|k| server.keyring().public_key(&k.meta.key_id)).map(jwk).collect();
        let newest = store.root_keys().map(|k| k.meta.create_time).max().unwrap_or_default();
        Ok((store.index_of(Table::RootKeys), (keys, newest)))
    });
    let ((keys, newest), meta) = read.await?;
    let age = max_age(newest, now(), server.settings().gc.key_rotation, random_below);
    let body = Response::json(&json!({ "keys": keys }))?;
    Ok(body.meta(&meta).header(header::CACHE_CONTROL, &format!("max-age={age}")))
}

fn jwk(key: encamp_server::keyring::PublicKey) -> Jwk {
    let text = |bytes: Vec<u8>| URL_SAFE_NO_PAD.encode(bytes);
    Jwk { alg: jwt::ALGORITHM, e: text(key.e), kid: key.key_id, kty: "RSA", n: text(key.n), r#use: "sig" }
}

/// How long, in seconds, the list may be kept: until the key after the newest one is published, which is half its life
/// before it signs anything. Up to a tenth more, so that not all come at once.
fn max_age(newest: i64, now: i64, threshold: i64, random_below: impl Fn(u64) -> u64) -> u64 {
    let left = newest.saturating_add(threshold / 2).saturating_sub(now).max(0) / SECOND;
    let left = left.unsigned_abs();
    (left + random_below(left / 10)).max(MAX_AGE)
}

pub(crate) async fn openid(request: Request) -> Outcome {
    let issuer = request.server()?.settings().oidc_issuer.clone();
    if issuer.is_empty() {
        return Err(Error::not_found("OIDC Discovery endpoint disabled"));
    }
    let jwks = format!("{}/.well-known/jwks.json", issuer.trim_end_matches('/'));
    Response::json(&json!({
        "issuer": issuer, "jwks_uri": jwks,
        "id_token_signing_alg_values_supported": ["RS256", "EdDSA"],
        "response_types_supported": ["code"], "subject_types_supported": ["public"],
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::HOUR;

    #[test]
    fn public_keys_are_kept_until_the_next_one_is_published() {
        let month = 720 * HOUR;
        let age = |age: i64, random: fn(u64) -> u64| max_age(0, age, month, random);
        assert_eq!(age(0, |_| 0), 360 * 3600);
        assert_eq!(age(0, |n| n - 1), 396 * 3600 - 1);
        assert_eq!((age(360 * HOUR - SECOND, |_| 0), age(month, |_| 0)), (900, 900));
    }
}
