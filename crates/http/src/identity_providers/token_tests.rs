//! Checks of tokens, with keys made for this test.

use base64::engine::general_purpose::STANDARD as DER;
use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::json;

use super::*;
use crate::identity_providers::keys::KeySet;

const NOW: i64 = 1_795_243_431;
const PRIVATE: &str = include_str!("test_key.pem");
const PUBLIC: &str = include_str!("test_key.pub.pem");

fn config() -> AclAuthMethodConfig {
    AclAuthMethodConfig {
        bound_audiences: vec!["nomad".into()],
        bound_issuer: vec!["https://issuer.test".into()],
        ..Default::default()
    }
}

fn keys() -> VerifyingKeys {
    VerifyingKeys::of_pem(&[PUBLIC.to_string()]).expect("keys")
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

fn verify(claims: &Value, at: i64) -> Result<(), Refused> {
    verified(&config(), &keys(), None, &signed(claims), at * SECOND).map(drop)
}

#[test]
fn tokens_are_checked() {
    let with = |name: &str, value: Value| {
        let mut c = claims();
        c[name] = value;
        c
    };
    assert_eq!(verify(&claims(), NOW), Ok(()));
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
        assert_eq!(verify(&claims, at), want, "{claims} {at}");
    }
    let mut timeless = claims();
    for name in ["exp", "iat"] {
        timeless.as_object_mut().expect("an object").remove(name);
    }
    assert_eq!(verify(&timeless, NOW), Err(Refused::NoTime));
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
        assert!(verified(&config(), &keys(), None, token, NOW * SECOND).is_err(), "{token}");
    }
    let other = AclAuthMethodConfig { signing_algs: vec!["RS256".into()], ..config() };
    let refused = verified(&other, &keys(), None, &good, NOW * SECOND);
    assert_eq!(refused, Err(Refused::Algorithm("ES256".into())));
    let confused = verified(&config(), &keys(), None, &confused, NOW * SECOND);
    assert_eq!(confused, Err(Refused::Algorithm("HS256".into())));
    assert!(VerifyingKeys::of_pem(&["no key".to_string()]).is_err());
}

#[test]
fn critical_headers_are_refused() {
    let key = EncodingKey::from_ec_pem(PRIVATE.as_bytes()).expect("a key");
    let verify = |header: Value| {
        let message = [header, claims()].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::ES256).expect("a signature");
        verified(&config(), &keys(), None, &format!("{message}.{signature}"), NOW * SECOND).map(drop)
    };
    assert_eq!(verify(json!({"alg": "ES256"})), Ok(()));
    assert_eq!(verify(json!({"alg": "ES256", "crit": ["b64"], "b64": true})), Err(Refused::Critical));
}

/// The test key in a set, under an ID.
fn set(id: &str) -> VerifyingKeys {
    let point = DER.decode(PUBLIC.lines().filter(|l| !l.starts_with('-')).collect::<String>()).expect("base64");
    // The last bytes of a key of P-256 are its coordinates.
    let coordinates = point.get(point.len() - 64..).expect("two coordinates");
    let [x, y] = [0, 32].map(|at| URL_SAFE_NO_PAD.encode(&coordinates[at..at + 32]));
    let set = json!({"keys": [{"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": id}]});
    VerifyingKeys::of_set(serde_json::from_value::<KeySet>(set).expect("a set")).expect("keys")
}

#[test]
fn keys_are_found_by_their_ids() {
    let key = EncodingKey::from_ec_pem(PRIVATE.as_bytes()).expect("a key");
    let with_id = |kid: Option<&str>| {
        let header = Header { kid: kid.map(String::from), ..Header::new(Algorithm::ES256) };
        encode(&header, &claims(), &key).expect("a token")
    };
    let verify = |keys: &VerifyingKeys, token: &str| verified(&config(), keys, None, token, NOW * SECOND).map(drop);
    assert_eq!(verify(&set("a"), &with_id(Some("a"))), Ok(()));
    assert_eq!(verify(&set("a"), &with_id(None)), Ok(()));
    assert_eq!(verify(&set("a"), &with_id(Some("b"))), Err(Refused::UnknownKey));
    assert_eq!(verify(&keys(), &with_id(Some("b"))), Ok(()), "PEM keys have no IDs");
    assert!(Refused::UnknownKey.may_be_new_key() && !Refused::Malformed(String::new()).may_be_new_key());
}

#[test]
fn the_issuer_is_that_of_the_provider() {
    let verify = |config: &AclAuthMethodConfig, issuer: &str| {
        verified(config, &keys(), Some(issuer), &signed(&claims()), NOW * SECOND).map(drop)
    };
    let unbound = AclAuthMethodConfig { bound_issuer: Vec::new(), ..config() };
    assert_eq!(verify(&unbound, "https://issuer.test"), Ok(()));
    assert_eq!(verify(&unbound, "https://other.test"), Err(Refused::Issuer));
    assert_eq!(verify(&config(), "https://other.test"), Ok(()), "the method names its own");
}

#[test]
fn id_tokens_belong_to_one_login() {
    let good = json!({"iss": "https://idp", "aud": "client", "exp": NOW, "nonce": "n", "sub": "s"});
    let with = |name: &str, value: Value| {
        let mut c = good.clone();
        c[name] = value;
        check_id_token(&c, "https://idp", "client", "n")
    };
    assert_eq!(with("x", Value::Null), Ok(()));
    assert_eq!(with("aud", json!(["client"])), Ok(()));
    assert_eq!(with("azp", json!("client")), Ok(()));
    for (name, value, want) in [
        ("iss", json!("https://idp/"), Refused::Issuer),
        ("aud", json!("other"), Refused::Audience),
        ("aud", json!(["client", "other"]), Refused::AuthorizedParty),
        ("azp", json!("other"), Refused::AuthorizedParty),
        ("azp", json!(1), Refused::AuthorizedParty),
        ("exp", Value::Null, Refused::NoEnd),
        ("nonce", json!("m"), Refused::Nonce),
        ("nonce", Value::Null, Refused::Nonce),
        ("nonce", json!(["n"]), Refused::Nonce),
        ("sub", json!(""), Refused::Subject),
    ] {
        assert_eq!(with(name, value.clone()), Err(want), "{name} {value}");
    }
    let mut both = good.clone();
    (both["aud"], both["azp"]) = (json!(["client", "other"]), json!("client"));
    assert_eq!(check_id_token(&both, "https://idp", "client", "n"), Ok(()));
    assert_eq!(check_id_token(&json!({"iss": "", "aud": "", "exp": 1, "sub": "s"}), "", "", ""), Err(Refused::Nonce));
}
