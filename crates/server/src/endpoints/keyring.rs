//! Rotating and removing root keys (`docs/spec/http-api.md §5.15, §9`;
//! `docs/spec/garbage-collection.md §11`).

use crate::error::Error;
use crate::evals::core_job::CoreJob;
use crate::keyring::new_key;
use crate::leadership::gc::keys::in_use;
use crate::leadership::gc::triggers::enqueue;
use crate::leading::Leading;
use encamp_model::{RootKey, RootKeyState};
use encamp_ops::Operation;

/// How a new key replaces the active one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    /// Immediately.
    Now,
    /// Immediately; all variables are re-encrypted.
    Full,
    /// At a time in Unix nanoseconds; its public key is published before.
    At(i64),
}

/// Creates a new key. Returns the key as written, without indexes, and the index.
///
/// # Errors
/// The key cannot be generated, or there is no leader.
pub async fn rotate(server: &Leading, rotation: Rotation) -> Result<(RootKey, u64), Error> {
    server.wait_ready().await?;
    let key = match rotation {
        Rotation::At(time) => new_key(RootKeyState::Prepublished, time).await?,
        Rotation::Now | Rotation::Full => new_key(RootKeyState::Active, 0).await?,
    };
    let meta = key.meta.clone();
    let (index, _) = server.commit(Operation::RootKeyUpsert { key, rekey: rotation == Rotation::Full }).await?;
    if rotation == Rotation::Full {
        enqueue(server, CoreJob::Rekey);
    }
    Ok((meta, index))
}

/// Removes a key. Returns the index. `force` also removes a key that is in use; data encrypted or signed with it is
/// then lost.
///
/// # Errors
/// The key is active, unknown, or in use, or there is no leader.
pub async fn delete(server: &Leading, id: &str, force: bool) -> Result<u64, Error> {
    server.wait_ready().await?;
    let snapshot = server.snapshot();
    let key = snapshot.root_key(id).ok_or_else(|| Error::internal("root key not found"))?;
    if key.meta.state == RootKeyState::Active {
        return Err(Error::internal("active root key cannot be deleted - call rotate first"));
    }
    if !force && in_use(&snapshot, id) {
        return Err(Error::internal("root key in use, cannot delete"));
    }
    Ok(server.commit(Operation::RootKeyDelete { id: id.into(), force }).await?.0)
}
