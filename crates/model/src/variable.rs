//! Variables, their locks, and the keys that encrypt them (`docs/spec/http-api.md §8`, `docs/spec/snapshot-archive.md
//! §8`).

use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use super::json::{duration_text, or_default};
use super::secret::SecretBytes;
use super::status::RootKeyState;

/// A variable as servers store it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VariableEncrypted {
    /// The namespace; with `path` the key of the variable.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// Parts of letters, digits, `-`, `_`, `~`, separated by `/`; at most 128 characters.
    #[serde(deserialize_with = "or_default")]
    pub path: String,
    /// The lock on the variable; null if it is not locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<VariableLock>,
    /// Raft index of the write that created the object.
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    /// Unix nanoseconds.
    #[serde(deserialize_with = "or_default")]
    pub create_time: i64,
    /// Raft index of the last write to the object.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
    /// Unix nanoseconds.
    #[serde(deserialize_with = "or_default")]
    pub modify_time: i64,
    /// The items, encrypted (AES-256-GCM).
    #[serde(deserialize_with = "or_default")]
    pub data: Bytes,
    /// The key that encrypts them.
    #[serde(rename = "KeyID", deserialize_with = "or_default")]
    pub key_id: String,
}

impl VariableEncrypted {
    /// The metadata of a variable, as shown in lists.
    pub fn metadata(&self) -> VariableMetadata {
        VariableMetadata {
            namespace: self.namespace.clone(),
            path: self.path.clone(),
            lock: self.lock.clone(),
            create_index: self.create_index,
            create_time: self.create_time,
            modify_index: self.modify_index,
            modify_time: self.modify_time,
        }
    }
}

/// A variable without its items.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VariableMetadata {
    /// The namespace; with `path` the key of the variable.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// Parts of letters, digits, `-`, `_`, `~`, separated by `/`; at most 128 characters.
    #[serde(deserialize_with = "or_default")]
    pub path: String,
    /// The lock on the variable; null if it is not locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<VariableLock>,
    /// Raft index of the write that created the object.
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    /// Unix nanoseconds.
    #[serde(deserialize_with = "or_default")]
    pub create_time: i64,
    /// Raft index of the last write to the object.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
    /// Unix nanoseconds.
    #[serde(deserialize_with = "or_default")]
    pub modify_time: i64,
}

/// A lock on a variable; durations in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VariableLock {
    /// A UUID that the holder proves itself with; empty: no lock. Whoever may read the variable sees it.
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    /// How long the lock holds without renewal, 10 s to 24 h.
    #[serde(rename = "TTL", with = "duration_text")]
    pub ttl: i64,
    /// How long nobody else gets the lock after it expired.
    #[serde(with = "duration_text")]
    pub lock_delay: i64,
}

/// How much a namespace holds in variables.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VariablesQuota {
    /// The namespace.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// Bytes of encrypted data.
    #[serde(deserialize_with = "or_default")]
    pub size: i64,
    /// Raft index of the write that created the object.
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    /// Raft index of the last write to the object.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// A key of the keyring, without the key itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RootKey {
    /// A UUID.
    #[serde(rename = "KeyID", deserialize_with = "or_default")]
    pub key_id: String,
    /// `aes256-gcm`.
    #[serde(deserialize_with = "or_default")]
    pub algorithm: String,
    /// `active`, `inactive`, `rekeying`, `prepublished` or `deprecated`.
    #[serde(deserialize_with = "or_default")]
    pub state: RootKeyState,
    /// Unix nanoseconds.
    #[serde(deserialize_with = "or_default")]
    pub create_time: i64,
    /// Unix nanoseconds.
    #[serde(deserialize_with = "or_default")]
    pub publish_time: i64,
    /// Raft index of the write that created the object.
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    /// Raft index of the last write to the object.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// The text that redacting puts behind the ID of a key.
const REDACTED: &str = " [REDACTED]";

impl RootKey {
    /// Whether the key was blanked in the backup it comes from.
    pub fn redacted(&self) -> bool {
        self.key_id.ends_with(REDACTED)
    }

    /// Marks the key as one without its material.
    pub fn redact(&mut self) {
        if !self.redacted() {
            self.key_id += REDACTED;
        }
    }

    /// The ID without the mark of redacting.
    pub fn shown_id(&self) -> &str {
        self.key_id.strip_suffix(REDACTED).unwrap_or(&self.key_id)
    }
}

/// A root key as servers store it: what it is made of, encrypted with a key of its own that lies beside it
/// (`docs/spec/http-api.md §9.3`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct WrappedRootKey {
    /// Which key it is.
    #[serde(deserialize_with = "or_default")]
    pub meta: RootKey,
    /// The key that encrypts variables, wrapped: nonce, ciphertext, tag.
    #[serde(deserialize_with = "or_default")]
    pub data_key: SecretBytes,
    /// The RSA key that signs identities (PKCS#1 DER), wrapped likewise.
    #[serde(rename = "RSAKey", deserialize_with = "or_default")]
    pub rsa_key: SecretBytes,
    /// The key-encryption key of the provider `aead`, as it is.
    #[serde(rename = "KEK", deserialize_with = "or_default")]
    pub kek: SecretBytes,
}
