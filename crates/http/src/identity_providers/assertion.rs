//! Client assertions: signed tokens with which a server proves to a provider who it is (RFC 7523 §3, OpenID Connect
//! Core 1.0 §9 `private_key_jwt` and `client_secret_jwt`).

use std::collections::BTreeMap;
use std::io::Read;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Map, Value, json};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use encamp_model::{AclAuthMethodConfig, OidcClientAssertion, OidcClientAssertionKey, SECOND, SecretString};
use encamp_server::keyring::Keyring;

/// How long an assertion is valid, in seconds.
const VALID: i64 = 300;
/// The largest file with a key or a certificate, in bytes.
const LARGEST: u64 = 64 << 10;

/// Why there is no assertion.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AssertionError {
    /// The source of the key is none that there is.
    #[error("KeySource {0:?} is none of nomad, private_key and client_secret")]
    Source(String),
    /// The algorithm does not fit the source of the key.
    #[error("KeyAlgorithm {0:?} does not fit KeySource")]
    Algorithm(String),
    /// The name of the header with the ID of the key is none that there is.
    #[error("KeyIDHeader {0:?} is none of kid, x5t and x5t#S256")]
    KeyIdHeader(String),
    /// What is needed is not in the method.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A member would be another than the standard one.
    #[error("ExtraHeaders sets {0:?}, which is made by the server")]
    Header(String),
    /// A file of the server cannot be read.
    #[error("the file of {0} cannot be read on the server: {1}")]
    File(&'static str, String),
    /// A text in PEM format is none.
    #[error("{0} is not in PEM format")]
    Pem(&'static str),
    /// The key of the method, or of the client, makes no signature.
    #[error("the key cannot sign")]
    Unsigned,
    /// The keyring of the cluster makes no signature.
    #[error("the keyring of the cluster cannot sign: {0}")]
    Keyring(String),
}

/// The signer of an assertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeySource {
    /// The keyring of the cluster.
    Keyring,
    /// A private key of the method.
    PrivateKey,
    /// The client secret.
    ClientSecret,
}

fn source(assertion: &OidcClientAssertion) -> Result<(KeySource, Algorithm), AssertionError> {
    let (source, default) = match assertion.key_source.as_str() {
        "nomad" => (KeySource::Keyring, "RS256"),
        "private_key" => (KeySource::PrivateKey, "RS256"),
        "client_secret" => (KeySource::ClientSecret, "HS256"),
        other => return Err(AssertionError::Source(other.into())),
    };
    let name = if assertion.key_algorithm.is_empty() { default } else { &assertion.key_algorithm };
    let wrong = || AssertionError::Algorithm(name.into());
    let algorithm = Algorithm::from_str(name).map_err(|_| wrong())?;
    let symmetric = matches!(algorithm, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512);
    let fits = match source {
        KeySource::Keyring => algorithm == Algorithm::RS256,
        KeySource::PrivateKey => !symmetric,
        KeySource::ClientSecret => symmetric,
    };
    if fits { Ok((source, algorithm)) } else { Err(wrong()) }
}

/// The headers of a token.
type Headers = Map<String, Value>;

/// The header that names a private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyIdHeader {
    Id,
    Sha1,
    Sha256,
}

fn key_id_header(key: &OidcClientAssertionKey) -> Result<KeyIdHeader, AssertionError> {
    match key.key_id_header.as_str() {
        "kid" => Ok(KeyIdHeader::Id),
        "x5t" => Ok(KeyIdHeader::Sha1),
        "x5t#S256" => Ok(KeyIdHeader::Sha256),
        "" if !key.key_id.is_empty() => Ok(KeyIdHeader::Id),
        "" => Ok(KeyIdHeader::Sha256),
        other => Err(AssertionError::KeyIdHeader(other.into())),
    }
}

/// Checks an assertion as far as no file of a server is needed.
pub(crate) fn check(config: &AclAuthMethodConfig, assertion: &OidcClientAssertion) -> Result<(), AssertionError> {
    let standard = ["alg", "typ", "kid", "x5t", "x5t#S256", "crit", "b64", "jwk", "jku"];
    if let Some(name) = assertion.extra_headers.keys().find(|name| standard.contains(&name.as_str())) {
        return Err(AssertionError::Header(name.clone()));
    }
    match source(assertion)?.0 {
        KeySource::Keyring => Ok(()),
        KeySource::ClientSecret => secret(config, assertion).map(drop),
        KeySource::PrivateKey => {
            let key = assertion.private_key.as_ref().ok_or(AssertionError::Missing("PrivateKey"))?;
            if key.pem_key.is_empty() && key.pem_key_file.is_empty() {
                return Err(AssertionError::Missing("PemKey"));
            }
            match key_id_header(key)? {
                KeyIdHeader::Id if key.key_id.is_empty() => Err(AssertionError::Missing("KeyID")),
                KeyIdHeader::Sha1 | KeyIdHeader::Sha256 if key.pem_cert.is_empty() && key.pem_cert_file.is_empty() => {
                    Err(AssertionError::Missing("PemCert"))
                }
                KeyIdHeader::Id | KeyIdHeader::Sha1 | KeyIdHeader::Sha256 => Ok(()),
            }
        }
    }
}

/// The secret that signs: the assertion's own, or that of the client.
fn secret<'a>(
    config: &'a AclAuthMethodConfig,
    assertion: &'a OidcClientAssertion,
) -> Result<&'a SecretString, AssertionError> {
    let all = [&assertion.client_secret, &config.oidc_client_secret];
    all.into_iter().find(|s| !s.is_empty()).ok_or(AssertionError::Missing("ClientSecret"))
}

/// The claims of an assertion. `now` in Unix nanoseconds; `id` makes it unique.
fn claims(config: &AclAuthMethodConfig, assertion: &OidcClientAssertion, now: i64, id: String) -> Value {
    let now = now / SECOND;
    let audience = match assertion.audience.as_slice() {
        [] => json!(config.oidc_discovery_url),
        [one] => json!(one),
        all => json!(all),
    };
    let client = &config.oidc_client_id;
    json!({"iss": client, "sub": client, "aud": audience, "iat": now, "nbf": now, "exp": now + VALID, "jti": id})
}

/// Whether the assertion of a method is signed by the keyring of the cluster.
pub(crate) fn needs_keyring(config: &AclAuthMethodConfig) -> bool {
    let source = config.oidc_client_assertion.as_ref().map(source);
    matches!(source, Some(Ok((KeySource::Keyring, _))))
}

/// The assertion of a method; `None` if it has none. Reads files of the server: not for async tasks.
pub(crate) fn signed(
    config: &AclAuthMethodConfig,
    keyring: &Keyring,
    now: i64,
    id: String,
) -> Result<Option<SecretString>, AssertionError> {
    let Some(assertion) = &config.oidc_client_assertion else { return Ok(None) };
    check(config, assertion)?;
    let (source, algorithm) = source(assertion)?;
    let claims = claims(config, assertion, now, id);
    let mut headers: Headers = assertion.extra_headers.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
    let token = match source {
        KeySource::Keyring => {
            keyring.sign_with_headers(&claims, &headers).map_err(|e| AssertionError::Keyring(e.to_string()))?.into()
        }
        KeySource::ClientSecret => {
            let key = EncodingKey::from_secret(secret(config, assertion)?.expose().as_bytes());
            sign(headers, &claims, &key, algorithm)?
        }
        KeySource::PrivateKey => {
            let key = assertion.private_key.as_ref().ok_or(AssertionError::Missing("PrivateKey"))?;
            headers.extend(named(key)?);
            sign(headers, &claims, &private_key(key, algorithm)?, algorithm)?
        }
    };
    Ok(Some(token))
}

/// The header that names a private key.
fn named(key: &OidcClientAssertionKey) -> Result<BTreeMap<String, Value>, AssertionError> {
    let header = key_id_header(key)?;
    let thumbprint = |digest: fn(&[u8]) -> Vec<u8>| {
        let pem = text("PemCert", &key.pem_cert, &key.pem_cert_file)?;
        let der =
            CertificateDer::from_pem_slice(pem.expose().as_bytes()).map_err(|_| AssertionError::Pem("PemCert"))?;
        Ok::<_, AssertionError>(URL_SAFE_NO_PAD.encode(digest(&der)))
    };
    let (name, value) = match header {
        KeyIdHeader::Id => ("kid", key.key_id.clone()),
        KeyIdHeader::Sha1 => ("x5t", thumbprint(|der| Sha1::digest(der).to_vec())?),
        KeyIdHeader::Sha256 => ("x5t#S256", thumbprint(|der| Sha256::digest(der).to_vec())?),
    };
    Ok(BTreeMap::from([(name.to_string(), value.into())]))
}

fn private_key(key: &OidcClientAssertionKey, algorithm: Algorithm) -> Result<EncodingKey, AssertionError> {
    let pem = text("PemKey", key.pem_key.expose(), &key.pem_key_file)?;
    let pem = pem.expose().as_bytes();
    let read = match algorithm {
        Algorithm::ES256 | Algorithm::ES384 => EncodingKey::from_ec_pem(pem),
        Algorithm::EdDSA => EncodingKey::from_ed_pem(pem),
        _ => EncodingKey::from_rsa_pem(pem),
    };
    read.map_err(|_| AssertionError::Pem("PemKey"))
}

/// A text of the method, or that of a file of this server.
fn text(what: &'static str, given: &str, file: &str) -> Result<SecretString, AssertionError> {
    if !given.is_empty() {
        return Ok(given.into());
    }
    let failed = |e: std::io::Error| AssertionError::File(what, e.kind().to_string());
    let opened = std::fs::File::open(file).map_err(failed)?;
    if !opened.metadata().map_err(failed)?.is_file() {
        return Err(AssertionError::File(what, "it is no regular file".into()));
    }
    let mut content = String::new();
    opened.take(LARGEST).read_to_string(&mut content).map_err(failed)?;
    Ok(content.into())
}

/// A token with headers of one's own, which `jsonwebtoken` does not write.
fn sign(
    mut headers: Headers,
    claims: &Value,
    key: &EncodingKey,
    algorithm: Algorithm,
) -> Result<SecretString, AssertionError> {
    headers.insert("alg".into(), format!("{algorithm:?}").into());
    headers.insert("typ".into(), "JWT".into());
    let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", encoded(&Value::Object(headers)), encoded(claims));
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), key, algorithm);
    let signature = signature.map_err(|_| AssertionError::Unsigned)?;
    Ok(format!("{message}.{signature}").into())
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::{DecodingKey, Validation, decode, decode_header};

    use super::*;

    const NOW: i64 = 1_795_243_431 * SECOND;
    const PRIVATE: &str = include_str!("test_key.pem");
    const PUBLIC: &str = include_str!("test_key.pub.pem");

    fn config(key_source: &str, key_algorithm: &str) -> AclAuthMethodConfig {
        let private_key = OidcClientAssertionKey { pem_key: PRIVATE.into(), key_id: "k1".into(), ..Default::default() };
        let assertion = OidcClientAssertion {
            key_source: key_source.into(),
            key_algorithm: key_algorithm.into(),
            private_key: Some(private_key),
            extra_headers: BTreeMap::from([("tenant".into(), "t".into())]),
            ..Default::default()
        };
        AclAuthMethodConfig {
            oidc_discovery_url: "https://idp.test".into(),
            oidc_client_id: "client".into(),
            oidc_client_secret: "hush".into(),
            oidc_client_assertion: Some(assertion),
            ..Default::default()
        }
    }

    fn made(config: &AclAuthMethodConfig) -> Result<SecretString, AssertionError> {
        signed(config, &Keyring::default(), NOW, "id".into()).map(|token| token.expect("an assertion"))
    }

    fn read(token: &SecretString, key: &DecodingKey, algorithm: Algorithm) -> Value {
        let mut validation = Validation::new(algorithm);
        (validation.validate_exp, validation.validate_aud) = (false, false);
        decode(token.expose(), key, &validation).expect("a valid token").claims
    }

    #[test]
    fn private_keys_and_secrets_sign() {
        let token = made(&config("private_key", "ES256")).expect("an assertion");
        let claims = read(&token, &DecodingKey::from_ec_pem(PUBLIC.as_bytes()).expect("a key"), Algorithm::ES256);
        let second = NOW / SECOND;
        let want = json!({"iss": "client", "sub": "client", "aud": "https://idp.test", "iat": second, "nbf": second,
            "exp": second + 300, "jti": "id"});
        assert_eq!(claims, want);
        assert_eq!(decode_header(token.expose()).expect("a header").kid.as_deref(), Some("k1"));
        let header = URL_SAFE_NO_PAD.decode(token.expose().split('.').next().unwrap_or_default()).expect("base64");
        assert!(String::from_utf8(header).expect("text").contains("\"tenant\":\"t\""));

        let token = made(&config("client_secret", "")).expect("an assertion");
        assert_eq!(read(&token, &DecodingKey::from_secret(b"hush"), Algorithm::HS256)["sub"], "client");
        assert_eq!(made(&config("nomad", "")), Err(AssertionError::Keyring("keyring has no active key".into())));
        let none = AclAuthMethodConfig { oidc_client_assertion: None, ..config("", "") };
        assert_eq!(signed(&none, &Keyring::default(), NOW, String::new()), Ok(None));
    }

    #[test]
    fn settings_that_do_not_fit_are_reported() {
        let with =
            |source: &str, algorithm: &str, change: fn(&mut OidcClientAssertion, &mut OidcClientAssertionKey)| {
                let mut config = config(source, algorithm);
                let mut assertion = config.oidc_client_assertion.take().expect("an assertion");
                let mut key = assertion.private_key.take().expect("a key");
                change(&mut assertion, &mut key);
                assertion.private_key = Some(key);
                config.oidc_client_assertion = Some(assertion);
                made(&config).map(drop).expect_err("it does not fit").to_string()
            };
        for (message, want) in [
            (with("other", "", |_, _| {}), "KeySource \"other\" is none of"),
            (with("private_key", "HS256", |_, _| {}), "KeyAlgorithm \"HS256\" does not fit"),
            (with("client_secret", "RS256", |_, _| {}), "KeyAlgorithm \"RS256\" does not fit"),
            (with("nomad", "none", |_, _| {}), "KeyAlgorithm \"none\" does not fit"),
            (with("private_key", "ES256", |_, k| k.pem_key = "".into()), "PemKey is missing"),
            (with("private_key", "ES256", |_, k| k.pem_key = "hush".into()), "PemKey is not in PEM format"),
            (with("private_key", "ES256", |_, k| k.key_id = String::new()), "PemCert is missing"),
            (with("private_key", "ES256", |_, k| k.key_id_header = "x".into()), "KeyIDHeader \"x\" is none of"),
            (with("nomad", "", |a, _| drop(a.extra_headers.insert("alg".into(), "none".into()))), "ExtraHeaders sets"),
            (
                with("private_key", "ES256", |_, k| (k.pem_key, k.pem_key_file) = ("".into(), "/nonexistent".into())),
                "the file of PemKey cannot be read on the server: entity not found",
            ),
            (
                with("private_key", "ES256", |_, k| (k.pem_key, k.pem_key_file) = ("".into(), "/dev/zero".into())),
                "the file of PemKey cannot be read on the server: it is no regular file",
            ),
        ] {
            assert!(message.starts_with(want), "{message}");
        }
    }
}
