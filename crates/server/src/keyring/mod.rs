//! The keyring (`docs/spec/http-api.md §9, §10`): unwrapped root keys in memory, which encrypt variables and sign
//! identities.
//!
//! - [`material`]: generating, wrapping and unwrapping keys. [`jwt`]: signed tokens. [`claims`]: their claims.
//!   [`verified`]: identities of nodes that were verified before.
//!
//! The wrapped keys are in the store; the keyring is updated with every entry, before readers can see the entry.

pub mod claims;
pub mod jwt;
pub(crate) mod material;
#[cfg(test)]
mod tests;
mod verified;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use serde::Serialize;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::error::Error;
use claims::Claims;
use encamp_host::ids;
use encamp_host::threads;
use encamp_host::watch_value;
use encamp_model::{Bytes, RootKey, RootKeyState, WrappedRootKey};
use encamp_ops::Sealed;
use encamp_state::StateStore;
use material::Key;

/// How long what needs a key waits for the first one of a new cluster.
pub const KEY_WAIT: Duration = Duration::from_secs(5);

/// An error of the keyring.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// There is no active key: the leader has not generated the first one yet.
    #[error("keyring has no active key")]
    NoActiveKey,
    /// The key is not in the keyring.
    #[error("no such key {0:?} in keyring")]
    UnknownKey(String),
    /// The data was not encrypted with the key, or was modified.
    #[error("data can not be decrypted with key {0:?}")]
    Undecryptable(String),
    /// The key has no signing key, or signing failed.
    #[error("key {0:?} can not sign")]
    Unsigned(String),
    /// The system provides no random numbers.
    #[error("no random numbers")]
    NoRandom,
    /// The agent is stopping.
    #[error("the key was not made: the agent is stopping")]
    Stopping,
    /// The claims are not a JSON object.
    #[error("claims can not be encoded")]
    Claims,
}

impl From<KeyringError> for Error {
    fn from(e: KeyringError) -> Error {
        Error::internal(e.to_string())
    }
}

/// The public part of a root key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// The root key.
    pub key_id: String,
    /// Modulus, big-endian.
    pub n: Vec<u8>,
    /// Exponent, big-endian.
    pub e: Vec<u8>,
}

#[derive(Default)]
struct Keys {
    by_id: BTreeMap<String, Arc<Key>>,
    active: Option<Arc<Key>>,
}

/// Unwrapped root keys. Secrets are never exposed.
pub struct Keyring {
    keys: RwLock<Keys>,
    /// The ID of the active key.
    active: watch_value::Sender<Option<Arc<str>>>,
    /// Identities of nodes whose signatures are valid.
    verified: verified::Verified,
}

impl Default for Keyring {
    fn default() -> Keyring {
        Keyring { keys: RwLock::default(), active: watch_value::Sender::new(None), verified: Default::default() }
    }
}

impl Keyring {
    /// Unwraps a key that is about to be stored. A key that cannot be unwrapped is logged and skipped.
    pub fn add(&self, wrapped: &WrappedRootKey) {
        let id = wrapped.meta.key_id.as_str();
        if self.keys.read().by_id.contains_key(id) {
            return;
        }
        match material::unwrap(wrapped) {
            Ok(key) => drop(self.keys.write().by_id.insert(id.to_string(), Arc::new(key))),
            Err(e) => tracing::error!(target: "nomad.keyring", key_id = id, error = %e, "failed to decrypt root key"),
        }
    }

    /// Synchronizes the keyring with the store: adds missing keys, removes deleted ones, and sets the active key.
    pub fn follow(&self, store: &StateStore) {
        store.root_keys().for_each(|k| self.add(k));
        let active = store.active_root_key().map(|k| k.meta.key_id.as_str());
        let mut keys = self.keys.write();
        keys.by_id.retain(|id, _| store.root_key(id).is_some());
        keys.active = active.and_then(|id| keys.by_id.get(id)).cloned();
        let id = keys.active.as_ref().map(|k| k.id.clone());
        drop(keys);
        self.active.send_if_modified(|old| {
            let changed = *old != id;
            *old = id;
            changed
        });
    }

    /// The ID of the active key.
    pub fn active_id(&self) -> Option<Arc<str>> {
        self.active.borrow().clone()
    }

    /// Waits for an active key, which a new cluster gets shortly after its first leader election. Returns false on
    /// timeout.
    pub async fn wait_active(&self, timeout: Duration) -> bool {
        let mut active = self.active.subscribe();
        matches!(tokio::time::timeout(timeout, active.wait_for(Option::is_some)).await, Ok(Ok(_)))
    }

    fn active(&self) -> Result<Arc<Key>, KeyringError> {
        self.keys.read().active.clone().ok_or(KeyringError::NoActiveKey)
    }

    fn key(&self, id: &str) -> Result<Arc<Key>, KeyringError> {
        self.keys.read().by_id.get(id).cloned().ok_or_else(|| KeyringError::UnknownKey(id.into()))
    }

    /// Whether the keyring has a key.
    pub fn has(&self, id: &str) -> bool {
        self.keys.read().by_id.contains_key(id)
    }

    /// Encrypts with the active key (AES-256-GCM; the key ID is authenticated, too).
    ///
    /// # Errors
    /// There is no active key, or the system provides no random numbers.
    pub fn encrypt(&self, plain: &[u8]) -> Result<Sealed, KeyringError> {
        let key = self.active()?;
        let data = material::seal(&key.data, key.id.as_bytes(), plain)?;
        Ok(Sealed { key_id: key.id.to_string(), data: Bytes(data) })
    }

    /// Decrypts the output of [`Keyring::encrypt`].
    ///
    /// # Errors
    /// The key is unknown, or the data was not encrypted with it.
    pub(crate) fn decrypt(&self, key_id: &str, data: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyringError> {
        let key = self.key(key_id)?;
        material::open(&key.data, key_id.as_bytes(), data).ok_or_else(|| KeyringError::Undecryptable(key_id.into()))
    }

    /// Signs claims with the active key. Returns the token and the key ID. Takes about a millisecond.
    ///
    /// # Errors
    /// There is no active key, it cannot sign, or the claims are not a JSON object.
    pub fn sign(&self, claims: &impl Serialize) -> Result<(String, String), KeyringError> {
        let key = self.active()?;
        Ok((jwt::sign(&key, claims, &Map::new())?, key.id.to_string()))
    }

    /// Signs claims with the active key. `headers` are added to the standard ones `alg`, `kid` and `typ`, which must not
    /// be among them.
    ///
    /// # Errors
    /// As [`Keyring::sign`].
    pub fn sign_with_headers(
        &self,
        claims: &impl Serialize,
        headers: &Map<String, Value>,
    ) -> Result<String, KeyringError> {
        jwt::sign(&*self.active()?, claims, headers)
    }

    /// Signs claims with the given key.
    ///
    /// # Errors
    /// The key is unknown or cannot sign, or the claims are not a JSON object.
    pub(crate) fn sign_with(&self, key_id: &str, claims: &impl Serialize) -> Result<String, KeyringError> {
        jwt::sign(&*self.key(key_id)?, claims, &Map::new())
    }

    /// The claims of a token that was signed with one of these keys and is valid at a time; `None` for any other text.
    pub fn verified(&self, token: &str, now: i64) -> Option<Claims> {
        let key = self.public_key(&jwt::key_id(token)?)?;
        jwt::verified::<Claims>(token, &key).filter(|c| c.is_current(now))
    }

    /// The claims of a node's identity, if a key of the keyring signed it and it is valid at `now`, in Unix
    /// nanoseconds. Signatures are verified once.
    pub(crate) fn verified_node(&self, token: &str, now: i64) -> Option<Arc<Claims>> {
        let (key_id, claims) = self.verified.of(token, || {
            let key_id = jwt::key_id(token)?;
            let claims = jwt::verified::<Claims>(token, &self.public_key(&key_id)?)?;
            (!claims.nomad_node_id.is_empty()).then(|| (key_id, Arc::new(claims)))
        })?;
        Some(claims).filter(|c| self.has(&key_id) && c.is_current(now))
    }

    /// The public part of a key; `None` if the key does not exist or cannot sign.
    pub fn public_key(&self, key_id: &str) -> Option<PublicKey> {
        self.key(key_id).ok()?.public()
    }
}

/// Generates a root key in a state; `publish_time` is in Unix nanoseconds, 0 for none. Takes some tenths of a second,
/// on a separate thread.
///
/// # Errors
/// The system provides no random numbers, or the agent is stopping.
pub(crate) async fn new_key(state: RootKeyState, publish_time: i64) -> Result<Arc<WrappedRootKey>, KeyringError> {
    let meta = RootKey { key_id: ids::uuid(), state, create_time: ids::now(), publish_time, ..Default::default() };
    let made = threads::unblock(move || material::generate(meta)).await;
    Ok(Arc::new(made.map_err(|_| KeyringError::Stopping)??))
}

/// Whether a key is published to verifiers of tokens (`docs/spec/http-api.md §10.4`).
pub fn published(key: &WrappedRootKey) -> bool {
    key.meta.state != RootKeyState::Deprecated
}
