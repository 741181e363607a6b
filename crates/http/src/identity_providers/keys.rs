//! Public keys that verify tokens: of PEM texts, and of JSON Web Key Sets (RFC 7517). Only asymmetric keys are used.

use std::fmt;
use std::str::FromStr;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// The most keys of a set.
const MOST: usize = 100;
/// What RSA keys verify.
const RSA: &[Algorithm] =
    &[Algorithm::RS256, Algorithm::RS384, Algorithm::RS512, Algorithm::PS256, Algorithm::PS384, Algorithm::PS512];
/// What keys of elliptic curves verify, where the curve is not known.
const EC: &[Algorithm] = &[Algorithm::ES256, Algorithm::ES384];
/// What Ed25519 keys verify.
const ED: &[Algorithm] = &[Algorithm::EdDSA];

/// Whether tokens with this algorithm can be verified: `SigningAlgs` of a method has no others.
pub(crate) fn is_supported(algorithm: &str) -> bool {
    Algorithm::from_str(algorithm).is_ok_and(|a| [RSA, EC, ED].iter().any(|list| list.contains(&a)))
}

/// A text is not a public key in PEM format; the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotAKey(String);

/// A public key.
pub(crate) struct VerifyingKey {
    /// Its `kid`; of PEM keys none.
    pub id: Option<String>,
    /// The algorithms it is for.
    pub algorithms: Vec<Algorithm>,
    /// The key itself.
    pub key: DecodingKey,
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({:?}, {:?})", self.id, self.algorithms)
    }
}

/// Why the keys of a provider cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeySetError {
    /// There are too many.
    #[error("the set has more than {MOST} keys")]
    TooMany,
    /// None of them verifies a signature.
    #[error("the set has no public key for signatures")]
    Empty,
}

/// A JSON Web Key Set. Keys of types that are not known are left out, as RFC 7517 §5 says.
#[derive(Debug, Deserialize)]
pub(crate) struct KeySet {
    keys: Vec<Value>,
}

/// All keys that may verify a token.
#[derive(Debug, Default)]
pub(crate) struct VerifyingKeys(pub(crate) Vec<VerifyingKey>);

impl VerifyingKeys {
    /// The keys of PEM texts.
    ///
    /// # Errors
    /// One of them is no key.
    pub(crate) fn of_pem(texts: &[String]) -> Result<VerifyingKeys, NotAKey> {
        let mut all = Vec::new();
        for text in texts {
            let pem = text.as_bytes();
            let rsa = DecodingKey::from_rsa_pem(pem);
            let failed = rsa.as_ref().err().map(|e| NotAKey(e.to_string()));
            let found =
                [(RSA, rsa.ok()), (EC, DecodingKey::from_ec_pem(pem).ok()), (ED, DecodingKey::from_ed_pem(pem).ok())];
            let before = all.len();
            all.extend(found.into_iter().filter_map(|(algorithms, key)| {
                Some(VerifyingKey { id: None, algorithms: algorithms.into(), key: key? })
            }));
            if all.len() == before {
                return Err(failed.unwrap_or_else(|| NotAKey("no algorithm uses it".into())));
            }
        }
        Ok(VerifyingKeys(all))
    }

    /// The keys of a set.
    ///
    /// # Errors
    /// There are too many, or none that can be used.
    pub(crate) fn of_set(set: KeySet) -> Result<VerifyingKeys, KeySetError> {
        if set.keys.len() > MOST {
            return Err(KeySetError::TooMany);
        }
        let all: Vec<VerifyingKey> = set.keys.into_iter().filter_map(of_jwk).collect();
        if all.is_empty() { Err(KeySetError::Empty) } else { Ok(VerifyingKeys(all)) }
    }
}

/// A key of a set; `None` if it is not for signatures, or of an unknown type.
fn of_jwk(value: Value) -> Option<VerifyingKey> {
    let jwk: Jwk = serde_json::from_value(value).ok()?;
    let fit: &[Algorithm] = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => RSA,
        AlgorithmParameters::EllipticCurve(key) => match key.curve {
            EllipticCurve::P256 => &[Algorithm::ES256],
            EllipticCurve::P384 => &[Algorithm::ES384],
            EllipticCurve::P521 | EllipticCurve::Ed25519 => return None,
        },
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => ED,
        // A published symmetric key lets anybody sign.
        AlgorithmParameters::OctetKeyPair(_) | AlgorithmParameters::OctetKey(_) => return None,
    };
    match &jwk.common.public_key_use {
        None | Some(PublicKeyUse::Signature) => {}
        Some(PublicKeyUse::Encryption | PublicKeyUse::Other(_)) => return None,
    }
    let own = jwk.common.key_algorithm.map(|a| Algorithm::from_str(&a.to_string()));
    let algorithms = match own {
        None => fit.to_vec(),
        Some(own) => vec![own.ok().filter(|a| fit.contains(a))?],
    };
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    Some(VerifyingKey { id: jwk.common.key_id, algorithms, key })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The ID of a key, and the algorithms that it verifies.
    type Read = (Option<String>, Vec<Algorithm>);

    fn read(keys: Value) -> Result<Vec<Read>, KeySetError> {
        let set: KeySet = serde_json::from_value(json!({ "keys": keys })).expect("a set");
        Ok(VerifyingKeys::of_set(set)?.0.into_iter().map(|k| (k.id, k.algorithms)).collect())
    }

    #[test]
    fn sets_give_public_keys_for_signatures() {
        let x = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
        let all = read(json!([
            {"kty": "EC", "crv": "P-256", "kid": "a", "x": x, "y": x, "use": "sig"},
            {"kty": "EC", "crv": "P-256", "x": x, "y": x, "use": "enc"},
            {"kty": "EC", "crv": "secp256k1", "x": x, "y": x},
            {"kty": "EC", "crv": "P-256", "x": x, "y": x, "alg": "RS256"},
            {"kty": "oct", "k": x, "alg": "HS256"},
            {"kty": "OKP", "crv": "Ed25519", "x": x},
            {"kty": "OKP", "crv": "P-256", "x": x},
            {"kty": "RSA", "n": x, "e": "AQAB", "alg": "PS256", "kid": "r"},
            {"kty": "RSA", "n": x, "e": "AQAB", "alg": "RSA-OAEP"},
            {"kty": "lattice"}, 7
        ]));
        let want = vec![
            (Some("a".to_string()), vec![Algorithm::ES256]),
            (None, vec![Algorithm::EdDSA]),
            (Some("r".to_string()), vec![Algorithm::PS256]),
        ];
        assert_eq!(all, Ok(want));
        assert_eq!(read(json!([{"kty": "oct", "k": x}])), Err(KeySetError::Empty));
        let many = vec![json!({"kty": "RSA", "n": x, "e": "AQAB"}); MOST + 1];
        assert_eq!(read(many.into()), Err(KeySetError::TooMany));
    }

    #[test]
    fn algorithms_are_asymmetric() {
        let supported = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];
        assert!(supported.into_iter().all(is_supported));
        assert!(!["none", "HS256", "HS384", "HS512", "ES512", "", "rs256"].into_iter().any(is_supported));
    }
}
