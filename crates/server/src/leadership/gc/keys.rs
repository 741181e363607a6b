//! Rotation and collection of root keys (`docs/spec/garbage-collection.md §11.2`).

use std::sync::Arc;

use super::rules;
use crate::error::Error;
use crate::keyring::{KeyringError, new_key};
use crate::leading::Leading;
use encamp_model::{RootKeyState, WrappedRootKey};
use encamp_ops::Operation;
use encamp_state::{StateStore, StoreSnapshot};

/// The next step of a key rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Activates a prepublished key.
    Activate(String),
    /// Prepublishes a new key that becomes active at this time, in Unix nanoseconds.
    Prepublish(i64),
    /// There is no active key, and no key that could be activated.
    NoActiveKey,
}

/// The next step of the rotation; `None` if nothing is due. Times are Unix nanoseconds.
pub fn rotation(store: &StateStore, now: i64, threshold: i64) -> Option<Step> {
    let prepublished = store.root_keys().filter(|k| k.meta.state == RootKeyState::Prepublished);
    if let Some(next) = prepublished.min_by_key(|k| k.meta.publish_time) {
        return (next.meta.publish_time <= now).then(|| Step::Activate(next.meta.key_id.clone()));
    }
    let Some(active) = store.active_root_key() else { return Some(Step::NoActiveKey) };
    let old = active.meta.create_time <= now.saturating_sub(threshold / 2);
    old.then(|| Step::Prepublish(active.meta.create_time.saturating_add(threshold)))
}

/// Whether any stored object was encrypted with a key or has an identity signed by it.
pub fn in_use(store: &StateStore, id: &str) -> bool {
    rules::key_user(store, id).is_some()
}

/// The operation that changes the state of a key.
pub(super) fn in_state(key: &WrappedRootKey, to: RootKeyState) -> Operation {
    let mut key = key.clone();
    key.meta.state = to;
    Operation::RootKeyUpsert { key: Arc::new(key), rekey: false }
}

/// Performs the next step of the rotation. Returns true if something changed.
pub(super) async fn rotate(
    server: &Leading,
    snapshot: &StoreSnapshot,
    now: i64,
    threshold: i64,
) -> Result<bool, Error> {
    let key = match rotation(snapshot, now, threshold) {
        None => return Ok(false),
        Some(Step::NoActiveKey) => {
            tracing::warn!(target: "nomad.core.sched", "keyring has no active key: rotate keyring to repair");
            return Ok(false);
        }
        Some(Step::Activate(id)) => {
            let Some(key) = snapshot.root_key(&id).filter(|_| server.keyring().has(&id)) else {
                let error = KeyringError::UnknownKey(id);
                tracing::error!(target: "nomad.core.sched", %error, "rotate: could not find prepublished key in keyring");
                return Ok(false);
            };
            in_state(key, RootKeyState::Active)
        }
        Some(Step::Prepublish(time)) => {
            Operation::RootKeyUpsert { key: new_key(RootKeyState::Prepublished, time).await?, rekey: false }
        }
    };
    let _timer = server.metrics().timer("nomad.keyring.update");
    server.commit_shared(key.into()).await.inspect_err(|e| {
        tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "root key rotation failed");
    })?;
    Ok(true)
}

/// Deletes unused keys. Returns how many.
pub(super) async fn collect(server: &Leading, ids: Vec<String>) -> Result<u64, Error> {
    let mut count = 0;
    for id in ids {
        tracing::trace!(target: "nomad.core.sched", key_id = id.as_str(), "deleting an unused root key");
        let _timer = server.metrics().timer("nomad.keyring.delete");
        server.commit_shared(Operation::RootKeyDelete { id, force: false }.into()).await.inspect_err(|e| {
            tracing::error!(target: "nomad.core.sched", error = e.message.as_str(), "root key delete failed");
        })?;
        count += 1;
    }
    Ok(count)
}
