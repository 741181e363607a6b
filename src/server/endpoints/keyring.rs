//! Root keys: made, rotated, removed (`spec/http-api.md §5.15, §9`; `spec/garbage-collection.md §11`).

use std::sync::Arc;

use crate::model::{RootKey, WrappedRootKey, root_key_state as state};
use crate::server::Server;
use crate::server::error::Error;
use crate::server::ids;
use crate::server::keyring::{KeyringError, material};
use crate::server::ops::Operation;

impl From<KeyringError> for Error {
    fn from(e: KeyringError) -> Error {
        Error::internal(e.to_string())
    }
}

/// Makes a key: a matter of tenths of a second, on a thread of its own.
async fn new_key(state: &str, publish_time: i64) -> Result<Arc<WrappedRootKey>, Error> {
    let meta = RootKey {
        key_id: ids::uuid(),
        state: state.into(),
        create_time: ids::now(),
        publish_time,
        ..Default::default()
    };
    let made = tokio::task::spawn_blocking(move || material::generate(meta)).await;
    let key = made.map_err(|_| Error::internal("the key was not made: the agent is stopping"))??;
    Ok(Arc::new(key))
}

/// Makes the first key of a cluster, if it has none.
///
/// # Errors
/// The key can't be made or written.
pub async fn make_first(server: &Server) -> Result<(), Error> {
    if server.snapshot().root_keys().next().is_some() {
        return Ok(());
    }
    let key = new_key(state::ACTIVE, 0).await?;
    let id = key.meta.key_id.clone();
    server.commit_shared(Arc::new(Operation::RootKeyUpsert { key, rekey: false })).await?;
    tracing::info!(target: "nomad.core", key_id = id.as_str(), "initialized keyring");
    Ok(())
}
