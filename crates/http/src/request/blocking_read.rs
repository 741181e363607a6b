//! Reads that wait until the state is newer than an index (`docs/spec/http-api.md §4.4`).

use std::time::Duration;

use tokio::time::Instant;

use super::read_options::ReadOptions;
use super::routed_request::Request;
use crate::error::Error;
use crate::read_meta::Meta;
use encamp_host::ids;
use encamp_server::storage::watch::WatchKey;
use encamp_state::{StateStore, Table};

impl Request {
    /// The response metadata of a read.
    pub fn meta(&self, index: u64) -> Meta {
        let Some(server) = self.app.server() else {
            return Meta { index, known_leader: false, last_contact: 0 };
        };
        let contact = server.consensus().stats().last_contact.unwrap_or_default();
        let last_contact = u64::try_from(contact.as_millis()).unwrap_or(u64::MAX);
        Meta { index, known_leader: server.leader_address().is_some(), last_contact }
    }

    /// Reads state, and waits for something newer than `options.index` (`docs/spec/http-api.md §4.4`). `read` gives the
    /// index of what it read, and may run often; `keys` are what it depends on.
    ///
    /// # Errors
    /// There is no leader, or what `read` gives.
    pub async fn blocking<T>(
        &self,
        options: &ReadOptions,
        mut keys: Vec<WatchKey>,
        mut read: impl FnMut(&StateStore) -> Result<(u64, T), Error>,
    ) -> Result<(T, Meta), Error> {
        let server = self.server()?;
        server.metrics().count("nomad.rpc.query", 1, &[]);
        if !options.stale {
            server.wait_ready().await?;
        }
        if options.index == 0 {
            let (index, value) = read(&server.snapshot())?;
            return Ok((value, self.meta(index)));
        }
        let jitter = u64::try_from(options.wait.as_nanos() / 16).unwrap_or_default();
        let deadline = Instant::now() + options.wait + Duration::from_nanos(ids::random_below(jitter));
        if self.app.settings().acl_enabled {
            keys.extend([Table::AclToken, Table::AclPolicy, Table::AclRoles].map(WatchKey::Table));
        }
        let read = |store: &StateStore| {
            // The token may have been revoked since the wait began.
            self.authorization.check_again()?;
            read(store)
        };
        let (index, value) = server.store().read_newer(keys, options.index, deadline, read).await?;
        Ok((value, self.meta(index)))
    }
}

/// An object for [`Request::blocking`], with the index of the answer: its own, or that of the table if there is none.
pub(crate) fn indexed<T>(
    store: &StateStore,
    table: Table,
    object: Option<T>,
    index: impl FnOnce(&T) -> u64,
) -> (u64, Option<T>) {
    (object.as_ref().map_or(store.index_of(table).max(1), index), object)
}

/// The object that was read, or 404 with the headers of the read.
///
/// # Errors
/// 404.
pub(crate) fn found<T>((value, meta): (Option<T>, Meta), missing: &str) -> Result<(T, Meta), Error> {
    match value {
        Some(v) => Ok((v, meta)),
        None => Err(Error::not_found(missing).with(meta)),
    }
}
