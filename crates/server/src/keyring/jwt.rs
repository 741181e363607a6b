//! Signed tokens (RFC 7519, RS256): `docs/spec/http-api.md §10`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaPublicKeyComponents};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::material::Key;
use super::{KeyringError, PublicKey};

/// The signature algorithm.
pub const ALGORITHM: &str = "RS256";

#[derive(Serialize)]
struct Header<'a> {
    alg: &'a str,
    kid: &'a str,
    typ: &'a str,
    #[serde(flatten)]
    more: &'a Map<String, Value>,
}

fn encoded(part: &impl Serialize) -> Result<String, KeyringError> {
    let json = serde_json::to_vec(part).map_err(|_| KeyringError::Claims)?;
    Ok(URL_SAFE_NO_PAD.encode(json))
}

/// Creates a signed token from claims. `more`: headers beside the standard ones.
pub(super) fn sign(key: &Key, claims: &impl Serialize, more: &Map<String, Value>) -> Result<String, KeyringError> {
    let failed = || KeyringError::Unsigned(key.id.to_string());
    let rsa = key.rsa.as_ref().ok_or_else(failed)?;
    let mut token = encoded(&Header { alg: ALGORITHM, kid: &key.id, typ: "JWT", more })?;
    token.push('.');
    token.push_str(&encoded(claims)?);
    let mut signature = vec![0; rsa.public().modulus_len()];
    rsa.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), token.as_bytes(), &mut signature).map_err(|_| failed())?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Ok(token)
}

/// The claims of a token that was signed with a key; `None` if it was not.
pub(super) fn verified<T: DeserializeOwned>(token: &str, key: &PublicKey) -> Option<T> {
    let (text, signature) = token.rsplit_once('.')?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    let public = RsaPublicKeyComponents { n: &key.n, e: &key.e };
    public.verify(&RSA_PKCS1_2048_8192_SHA256, text.as_bytes(), &signature).ok()?;
    claims(token)
}

/// The key ID in a token's header.
pub fn key_id(token: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Kid {
        kid: String,
    }
    let header = URL_SAFE_NO_PAD.decode(token.split('.').next()?).ok()?;
    Some(serde_json::from_slice::<Kid>(&header).ok()?.kid)
}

/// The claims of a token. The signature is not verified.
pub fn claims<T: DeserializeOwned>(token: &str) -> Option<T> {
    let mut parts = token.split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()
}
