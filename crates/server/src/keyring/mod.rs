//! The keyring (`docs/spec/http-api.md §9, §10`): root keys, unwrapped in memory. They encrypt variables and sign
//! identities.
//!
//! - [`material`]: making, wrapping and unwrapping of keys. [`jwt`]: signed tokens. [`claims`]: what they say.
//!
//! The wrapped keys are in the store; the keyring follows it, entry by entry, before others can read what was written.

pub mod claims;
pub mod jwt;
pub(crate) mod material;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use serde::Serialize;
use zeroize::Zeroizing;

use claims::Claims;
use encamp_host::ids;
use encamp_host::latest;
use encamp_host::threads;
use encamp_model::{Bytes, RootKey, WrappedRootKey, root_key_state};
use encamp_ops::Sealed;
use encamp_state::StateStore;
use material::Key;

/// Why the keyring could not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// There is no active key: the leader has not made the first one yet.
    #[error("keyring has no active key")]
    NoActiveKey,
    /// The key is not, or no longer, in the keyring.
    #[error("no such key {0:?} in keyring")]
    UnknownKey(String),
    /// The data was not made with the key, or was changed.
    #[error("data can not be decrypted with key {0:?}")]
    Undecryptable(String),
    /// The key has no part that signs, or it failed.
    #[error("key {0:?} can not sign")]
    Unsigned(String),
    /// The system has no random numbers.
    #[error("no random numbers")]
    NoRandom,
    /// The agent is stopping.
    #[error("the key was not made: the agent is stopping")]
    Stopping,
    /// Claims that are no JSON object.
    #[error("claims can not be encoded")]
    Claims,
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

/// Unwrapped root keys. Secrets stay inside.
pub struct Keyring {
    keys: RwLock<Keys>,
    /// The ID of the active key.
    active: latest::Sender<Option<Arc<str>>>,
}

impl Default for Keyring {
    fn default() -> Keyring {
        Keyring { keys: RwLock::default(), active: latest::Sender::new(None) }
    }
}

impl Keyring {
    fn read(&self) -> RwLockReadGuard<'_, Keys> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Keys> {
        self.keys.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unwraps a key that is about to be stored. One that can't be is logged and left out.
    pub fn add(&self, wrapped: &WrappedRootKey) {
        let id = wrapped.meta.key_id.as_str();
        if self.read().by_id.contains_key(id) {
            return;
        }
        match material::unwrap(wrapped) {
            Ok(key) => drop(self.write().by_id.insert(id.to_string(), Arc::new(key))),
            Err(e) => tracing::error!(target: "nomad.keyring", key_id = id, error = %e, "failed to decrypt root key"),
        }
    }

    /// Makes the keyring that of the store: adds what is missing, drops what is gone, knows the active key.
    pub fn follow(&self, store: &StateStore) {
        store.root_keys().for_each(|k| self.add(k));
        let active = store.active_root_key().map(|k| k.meta.key_id.as_str());
        let mut keys = self.write();
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

    /// Waits for an active key, which a new cluster gets a moment after its first leader; false if none came in time.
    pub async fn wait_active(&self, timeout: Duration) -> bool {
        let mut active = self.active.subscribe();
        matches!(tokio::time::timeout(timeout, active.wait_for(Option::is_some)).await, Ok(Ok(_)))
    }

    fn active(&self) -> Result<Arc<Key>, KeyringError> {
        self.read().active.clone().ok_or(KeyringError::NoActiveKey)
    }

    fn key(&self, id: &str) -> Result<Arc<Key>, KeyringError> {
        self.read().by_id.get(id).cloned().ok_or_else(|| KeyringError::UnknownKey(id.into()))
    }

    /// Whether the keyring has a key.
    pub fn has(&self, id: &str) -> bool {
        self.read().by_id.contains_key(id)
    }

    /// Encrypts with the active key (AES-256-GCM; the key's ID is authenticated with it).
    ///
    /// # Errors
    /// There is no active key, or there are no random numbers.
    pub fn encrypt(&self, plain: &[u8]) -> Result<Sealed, KeyringError> {
        let key = self.active()?;
        let data = material::seal(&key.data, key.id.as_bytes(), plain)?;
        Ok(Sealed { key_id: key.id.to_string(), data: Bytes(data) })
    }

    /// Decrypts what [`Keyring::encrypt`] made.
    ///
    /// # Errors
    /// The key is unknown, or the data is not what was encrypted with it.
    pub(crate) fn decrypt(&self, key_id: &str, data: &[u8]) -> Result<Zeroizing<Vec<u8>>, KeyringError> {
        let key = self.key(key_id)?;
        material::open(&key.data, key_id.as_bytes(), data).ok_or_else(|| KeyringError::Undecryptable(key_id.into()))
    }

    /// Signs claims with the active key: the token and the ID of the key. Takes about a millisecond.
    ///
    /// # Errors
    /// There is no active key, it can't sign, or the claims are no JSON object.
    pub fn sign(&self, claims: &impl Serialize) -> Result<(String, String), KeyringError> {
        let key = self.active()?;
        Ok((jwt::sign(&key, claims)?, key.id.to_string()))
    }

    /// Signs claims with a certain key.
    ///
    /// # Errors
    /// The key is unknown or can't sign, or the claims are no JSON object.
    pub(crate) fn sign_with(&self, key_id: &str, claims: &impl Serialize) -> Result<String, KeyringError> {
        jwt::sign(&*self.key(key_id)?, claims)
    }

    /// What a token claims that was signed with one of these keys and is valid at a time; none of any other text.
    pub fn verified(&self, token: &str, now: i64) -> Option<Claims> {
        let key = self.public_key(&jwt::key_id(token)?)?;
        jwt::verified::<Claims>(token, &key).filter(|c| c.is_current(now))
    }

    /// The public part of a key; `None` if there is no such key, or it does not sign.
    pub fn public_key(&self, key_id: &str) -> Option<PublicKey> {
        self.key(key_id).ok()?.public()
    }
}

/// Makes a root key that begins in a state; `publish_time` in Unix nanoseconds, 0 for none. A matter of tenths of a
/// second, on a thread of its own.
///
/// # Errors
/// The system has no random numbers, or the agent is stopping.
pub(crate) async fn new_key(state: &str, publish_time: i64) -> Result<Arc<WrappedRootKey>, KeyringError> {
    let meta = RootKey {
        key_id: ids::uuid(),
        state: state.into(),
        create_time: ids::now(),
        publish_time,
        ..Default::default()
    };
    let made = threads::unblock(move || material::generate(meta)).await;
    Ok(Arc::new(made.map_err(|_| KeyringError::Stopping)??))
}

/// Whether a key is shown to those who verify tokens (`docs/spec/http-api.md §10.4`).
pub fn published(key: &WrappedRootKey) -> bool {
    key.meta.state != root_key_state::DEPRECATED
}
