//! Variables, their locks, and the keys that encrypt them (`docs/spec/http-api.md §8`, `docs/spec/snapshot-archive.md
//! §8`).

use serde::{Deserialize, Serialize};

use super::bytes::Bytes;
use super::json::{duration_text, null_is_default};
use super::secret::SecretBytes;
use super::status::RootKeyState;

/// A variable as servers store it.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VariableEncrypted {
    /// The namespace; with `path` the key of the variable.
    pub namespace: String,
    /// Parts of letters, digits, `-`, `_`, `~`, separated by `/`; at most 128 characters.
    pub path: String,
    /// The lock on the variable; null if it is not locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<VariableLock>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Unix nanoseconds.
    pub create_time: i64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Unix nanoseconds.
    pub modify_time: i64,
    /// The items, encrypted (AES-256-GCM).
    pub data: Bytes,
    /// The key that encrypts them.
    #[serde(rename = "KeyID")]
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
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VariableMetadata {
    /// The namespace; with `path` the key of the variable.
    pub namespace: String,
    /// Parts of letters, digits, `-`, `_`, `~`, separated by `/`; at most 128 characters.
    pub path: String,
    /// The lock on the variable; null if it is not locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<VariableLock>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Unix nanoseconds.
    pub create_time: i64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Unix nanoseconds.
    pub modify_time: i64,
}

/// A lock on a variable; durations in nanoseconds.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VariableLock {
    /// A UUID that the holder proves itself with; empty: no lock. Whoever may read the variable sees it.
    #[serde(rename = "ID")]
    pub id: String,
    /// How long the lock holds without renewal, 10 s to 24 h.
    #[serde(rename = "TTL", with = "duration_text")]
    pub ttl: i64,
    /// How long nobody else gets the lock after it expired.
    #[serde(with = "duration_text")]
    pub lock_delay: i64,
}

/// How much a namespace holds in variables.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VariablesQuota {
    /// The namespace.
    pub namespace: String,
    /// Bytes of encrypted data.
    pub size: i64,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// A key of the keyring, without the key itself.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RootKey {
    /// A UUID.
    #[serde(rename = "KeyID")]
    pub key_id: String,
    /// `aes256-gcm`.
    pub algorithm: String,
    /// `active`, `inactive`, `rekeying`, `prepublished` or `deprecated`.
    pub state: RootKeyState,
    /// Unix nanoseconds.
    pub create_time: i64,
    /// Unix nanoseconds.
    pub publish_time: i64,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
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
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct WrappedRootKey {
    /// Which key it is.
    pub meta: RootKey,
    /// The key that encrypts variables, wrapped: nonce, ciphertext, tag.
    pub data_key: SecretBytes,
    /// The RSA key that signs identities (PKCS#1 DER), wrapped likewise.
    #[serde(rename = "RSAKey")]
    pub rsa_key: SecretBytes,
    /// The key-encryption key of the provider `aead`, as it is.
    #[serde(rename = "KEK")]
    pub kek: SecretBytes,
}
