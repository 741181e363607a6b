//! Signatures of plan files: Ed25519 (RFC 8032), with keys in PEM as openssl writes them.
//!
//! ```text
//! openssl genpkey -algorithm ed25519 -out plan-key.pem
//! openssl pkey -in plan-key.pem -pubout -out plan-key.pub.pem
//! ```

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use sha2::{Digest, Sha256};
use x509_parser::pem::Pem;

/// The size of the largest file with a key, bytes.
const LARGEST: u64 = 64 << 10;
/// The beginning of a public Ed25519 key in DER (RFC 8410, section 4); the 32 bytes of the key follow.
const PUBLIC_PREFIX: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// The length of a public key, bytes.
const PUBLIC_LENGTH: usize = 32;
/// The length of a signature, bytes.
const SIGNATURE_LENGTH: usize = 64;

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is larger than any key.
    #[error("it is too large to be a key")]
    Large,
    /// There is no private key in it.
    #[error("it contains no private key in PEM; openssl genpkey -algorithm ed25519 makes one")]
    NoPrivateKey,
    /// There is no public key in it.
    #[error("it contains no public key in PEM; openssl pkey -in «private key» -pubout prints it")]
    NoPublicKey,
    /// The key is of another kind.
    #[error("its key is not an unencrypted Ed25519 key")]
    OtherAlgorithm,
}

/// Why a signature is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The file is not signed.
    #[error("it is not signed")]
    Missing,
    /// The file is signed by a key that was not given.
    #[error("it is signed with another key, {found}")]
    OtherKey {
        /// The key that it names.
        found: KeyId,
    },
    /// The signature is not that of the content.
    #[error(
        "its signature is wrong: the file was changed after it was signed with key {key}, or was not signed with it"
    )]
    Wrong {
        /// The key that it names.
        key: KeyId,
    },
}

/// The name of a key: the first 8 bytes of the SHA-256 of the public key, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyId(String);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl KeyId {
    fn of(public: &[u8]) -> KeyId {
        KeyId(Sha256::digest(public).iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }
}

/// A key that signs.
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// Reads a private key (PKCS #8).
    ///
    /// # Errors
    /// The file cannot be read, or contains no such key.
    pub fn read(path: &Path) -> Result<SigningKey, KeyError> {
        let pem = blocks(path)?.into_iter().find(|b| b.label == "PRIVATE KEY").ok_or(KeyError::NoPrivateKey)?;
        SigningKey::from_der(&pem.contents)
    }

    fn from_der(der: &[u8]) -> Result<SigningKey, KeyError> {
        Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map(SigningKey).map_err(|_| KeyError::OtherAlgorithm)
    }

    /// The ID of the key and the signature of these bytes, as in the second line of a file.
    pub fn sign(&self, bytes: &[u8]) -> String {
        let id = KeyId::of(self.0.public_key().as_ref());
        format!("{id} {}", STANDARD.encode(self.0.sign(bytes)))
    }
}

/// A key that signatures are checked with.
pub struct PublicKey(Vec<u8>);

impl PublicKey {
    /// Reads a public key (`SubjectPublicKeyInfo`).
    ///
    /// # Errors
    /// The file cannot be read, or contains no such key.
    pub fn read(path: &Path) -> Result<PublicKey, KeyError> {
        let pem = blocks(path)?.into_iter().find(|b| b.label == "PUBLIC KEY").ok_or(KeyError::NoPublicKey)?;
        let key = pem.contents.strip_prefix(PUBLIC_PREFIX).filter(|key| key.len() == PUBLIC_LENGTH);
        key.map(|key| PublicKey(key.to_vec())).ok_or(KeyError::OtherAlgorithm)
    }

    /// The name of the key.
    pub fn id(&self) -> KeyId {
        KeyId::of(&self.0)
    }
}

fn blocks(path: &Path) -> Result<Vec<Pem>, KeyError> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(KeyError::Large);
    }
    // What follows a damaged block is of no use.
    Ok(Pem::iter_from_buffer(&bytes).map_while(Result::ok).collect())
}

/// The signature of a file.
#[derive(Debug)]
pub struct Signature {
    key: KeyId,
    bytes: Vec<u8>,
}

impl Signature {
    /// The parts of the second line of a file.
    pub fn parse(key: &str, signature: &str) -> Option<Signature> {
        let hexadecimal = key.len() == 16 && key.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let bytes = STANDARD.decode(signature).ok().filter(|bytes| bytes.len() == SIGNATURE_LENGTH)?;
        hexadecimal.then(|| Signature { key: KeyId(key.to_string()), bytes })
    }

    /// The key that it says it is made with.
    pub fn key(&self) -> &KeyId {
        &self.key
    }

    /// Checks the signature of these bytes with the key that it names.
    ///
    /// # Errors
    /// The key is none of these, or the signature is wrong.
    pub fn verify(&self, keys: &[PublicKey], bytes: &[u8]) -> Result<(), SignatureError> {
        let key = keys.iter().find(|key| key.id() == self.key);
        let key = key.ok_or_else(|| SignatureError::OtherKey { found: self.key.clone() })?;
        let verified = UnparsedPublicKey::new(&ED25519, &key.0).verify(bytes, &self.bytes);
        verified.map_err(|_| SignatureError::Wrong { key: self.key.clone() })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn key_of(seed: u8) -> SigningKey {
        SigningKey(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap())
    }

    /// A key and its public half.
    pub(in crate::plan_file) fn signing_key() -> (SigningKey, PublicKey) {
        let key = key_of(1);
        let public = PublicKey(key.0.public_key().as_ref().to_vec());
        (key, public)
    }

    /// Another key.
    pub(in crate::plan_file) fn other_key() -> SigningKey {
        key_of(2)
    }

    /// Keys of `openssl genpkey -algorithm ed25519`: 48 bytes of DER, without the public half.
    #[test]
    fn keys_of_openssl_are_read() {
        let head = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
        let key = SigningKey::from_der(&[&head[..], &[1; 32]].concat()).unwrap();
        let signed = key.sign(b"text");
        let (id, signature) = signed.split_once(' ').unwrap();
        let (_, public) = signing_key();
        assert_eq!(id, public.id().to_string());
        Signature::parse(id, signature).unwrap().verify(&[public], b"text").unwrap();
        assert!(matches!(SigningKey::from_der(b"x"), Err(KeyError::OtherAlgorithm)));
    }
}
