//! Keys of an identity provider: signed tokens and JSON Web Key Sets.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value as Json, json};

/// A key with an ID.
pub(crate) struct SigningKey {
    id: String,
    key: EcdsaKeyPair,
}

impl SigningKey {
    pub(crate) fn new(id: &str) -> SigningKey {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        let key = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key");
        SigningKey { id: id.into(), key }
    }

    /// The public part.
    pub(crate) fn jwk(&self) -> Json {
        let point = self.key.public_key().as_ref();
        let [x, y] = [1, 33].map(|at| URL_SAFE_NO_PAD.encode(&point[at..at + 32]));
        json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.id, "x": x, "y": y})
    }

    /// A token with these claims.
    pub(crate) fn sign(&self, claims: &Json) -> String {
        let part = |value: &Json| URL_SAFE_NO_PAD.encode(value.to_string());
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": self.id});
        let message = format!("{}.{}", part(&header), part(claims));
        let signature = self.key.sign(&SystemRandom::new(), message.as_bytes()).expect("a signature");
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
