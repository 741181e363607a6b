//! Root keys: made, rotated, removed (`docs/spec/http-api.md §5.15, §9`; `docs/spec/garbage-collection.md §11`).

use std::sync::Arc;

use crate::Server;
use crate::error::Error;
use crate::keyring::{KeyringError, new_key};
use crate::leadership::gc;
use encamp_model::{RootKey, root_key_state as state};
use encamp_ops::Operation;

impl From<KeyringError> for Error {
    fn from(e: KeyringError) -> Error {
        Error::internal(e.to_string())
    }
}

/// Makes the first key of a cluster, if it has none.
///
/// # Errors
/// The key can't be made or written.
pub(crate) async fn make_first(server: &Server) -> Result<(), Error> {
    if server.snapshot().root_keys().next().is_some() {
        return Ok(());
    }
    let key = new_key(state::ACTIVE, 0).await?;
    let id = key.meta.key_id.clone();
    server.commit_shared(Arc::new(Operation::RootKeyUpsert { key, rekey: false })).await?;
    tracing::info!(target: "nomad.core", key_id = id.as_str(), "initialized keyring");
    Ok(())
}

/// How a new key takes the place of the active one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rotation {
    /// At once.
    Now,
    /// At once; all variables are encrypted with it anew.
    Full,
    /// At a time, in Unix nanoseconds; its public part is known before.
    At(i64),
}

/// Makes a new key; gives it as it was written, without indexes, and the index.
///
/// # Errors
/// The key can't be made, or there is no leader.
pub async fn rotate(server: &Server, rotation: Rotation) -> Result<(RootKey, u64), Error> {
    server.wait_ready().await?;
    let key = match rotation {
        Rotation::At(time) => new_key(state::PREPUBLISHED, time).await?,
        Rotation::Now | Rotation::Full => new_key(state::ACTIVE, 0).await?,
    };
    let meta = key.meta.clone();
    let (index, _) = server.commit(Operation::RootKeyUpsert { key, rekey: rotation == Rotation::Full }).await?;
    if rotation == Rotation::Full {
        gc::enqueue(server, gc::REKEY);
    }
    Ok((meta, index))
}

/// Removes a key; gives the index. `force`: even if something was encrypted or signed with it, which is lost then.
///
/// # Errors
/// The active or an unknown key, one that is in use, no leader.
pub async fn delete(server: &Server, id: &str, force: bool) -> Result<u64, Error> {
    server.wait_ready().await?;
    let snapshot = server.snapshot();
    let key = snapshot.root_key(id).ok_or_else(|| Error::internal("root key not found"))?;
    if key.meta.state == state::ACTIVE {
        return Err(Error::internal("active root key cannot be deleted - call rotate first"));
    }
    if !force && gc::keys::in_use(&snapshot, id) {
        return Err(Error::internal("root key in use, cannot delete"));
    }
    Ok(server.commit(Operation::RootKeyDelete { id: id.into(), force }).await?.0)
}
