//! Variables (`docs/spec/http-api.md §8`): validated, encrypted, written with a check-and-set, locked. Decrypted items
//! are kept in memory only for the duration of a call.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use zeroize::{Zeroize, Zeroizing};

use crate::error::{Error, ErrorKind, multi_error};
use crate::keyring::KEY_WAIT;
use crate::leading::Leading;
use crate::server_state::ServerState;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::{Operation, Reply, Sealed, VariableChange, VariableReply, VariableWrite};

/// Maximum size in bytes of all keys and values of a variable.
const MAX_SIZE: usize = 65_536;
/// The default TTL and delay of a lock.
const LOCK_DEFAULT: i64 = 15 * SECOND;

/// The items of a variable. They have no debug form, and the values are erased from memory after use.
#[derive(Default, PartialEq)]
pub struct Items(pub BTreeMap<String, String>);

impl Drop for Items {
    fn drop(&mut self) {
        self.0.values_mut().for_each(Zeroize::zeroize);
    }
}

impl Items {
    fn size(&self) -> usize {
        self.0.iter().map(|(k, v)| k.len() + v.len()).sum()
    }
}

/// The result of a write.
#[derive(Debug, PartialEq)]
pub struct Written {
    /// The index of the log entry.
    pub index: u64,
    /// The outcome.
    pub reply: VariableReply,
}

impl Written {
    /// The variable as written; `None` if it was removed, or if the check-and-set failed.
    pub fn variable(&self) -> Option<&VariableEncrypted> {
        match &self.reply {
            VariableReply::Written(v) => v.as_deref(),
            VariableReply::Conflict(_) | VariableReply::Locked | VariableReply::Missing | VariableReply::NotLocked => {
                None
            }
        }
    }
}

/// Decrypts the items of a variable.
///
/// # Errors
/// The key is not in the keyring, or the data is damaged.
pub fn open(server: &ServerState, v: &VariableEncrypted) -> Result<Items, Error> {
    let plain = server.keyring().decrypt(&v.key_id, &v.data.0)?;
    // The error text of the decoder could reveal the content.
    serde_json::from_slice(&plain).map(Items).map_err(|_| Error::internal("the items of the variable are damaged"))
}

async fn seal(server: &ServerState, items: &Items) -> Result<Sealed, Error> {
    server.keyring().wait_active(KEY_WAIT).await;
    let plain = Zeroizing::new(serde_json::to_vec(&items.0).map_err(|e| Error::internal(e.to_string()))?);
    Ok(server.keyring().encrypt(&plain)?)
}

async fn commit(server: &Leading, write: VariableWrite) -> Result<Written, Error> {
    match server.commit(Operation::Variable(Box::new(write))).await? {
        (index, Reply::Variable(reply)) => Ok(Written { index, reply }),
        _ => Err(Error::internal("unexpected answer to a write")),
    }
}

/// Writes the items of a variable. `lock` is the lock that the caller claims to hold. With `cas`, the write only
/// happens if the stored variable has that ModifyIndex, or, for 0, if there is none.
///
/// # Errors
/// 400: the request violates `docs/spec/http-api.md §8.2`. There is no key, or no leader.
pub async fn put(
    server: &Leading,
    key: (String, String),
    items: Items,
    lock: Option<VariableLock>,
    cas: Option<u64>,
) -> Result<Written, Error> {
    server.wait_ready().await?;
    let lock = lock.unwrap_or_default();
    if key.0 != "*" && (lock.ttl != 0 || lock.lock_delay != 0) {
        return Err(refused(refused("variable should not contain lock definition")));
    }
    check(&key, &items)?;
    let change = VariableChange::Set(seal(server, &items).await?);
    drop(items);
    commit(server, VariableWrite { key, change, cas, lock_id: lock.id, now: ids::now() }).await
}

/// Removes a variable. `cas` is as in [`put`].
///
/// # Errors
/// There is no leader.
pub async fn delete(server: &Leading, key: (String, String), cas: Option<u64>) -> Result<Written, Error> {
    server.wait_ready().await?;
    let change = VariableChange::Delete;
    commit(server, VariableWrite { key, change, cas, lock_id: String::new(), now: ids::now() }).await
}

/// Acquires the lock of a variable and writes its items; creates the variable if there is none. The default TTL and
/// delay are used if the lock does not set them.
///
/// # Errors
/// 400: the request violates `docs/spec/http-api.md §8.2` or `§8.4`. There is no key, or no leader.
pub async fn acquire(
    server: &Leading,
    key: (String, String),
    items: Items,
    lock: Option<VariableLock>,
) -> Result<Written, Error> {
    server.wait_ready().await?;
    let mut lock = lock.unwrap_or_default();
    check(&key, &items)?;
    check_lock(&mut lock)?;
    if lock.id.is_empty() {
        lock.id = ids::uuid();
    }
    let lock_id = lock.id.clone();
    let change = VariableChange::Acquire(seal(server, &items).await?, lock);
    drop(items);
    commit(server, VariableWrite { key, change, cas: None, lock_id, now: ids::now() }).await
}

/// Releases the lock of a variable; its items are not changed.
///
/// # Errors
/// 400: the lock ID is missing, or there are items. 404: the variable does not exist. 500: the variable is not locked.
/// There is no leader.
pub async fn release(
    server: &Leading,
    key: (String, String),
    items: Items,
    lock: Option<VariableLock>,
) -> Result<Written, Error> {
    server.wait_ready().await?;
    if !items.0.is_empty() {
        return Err(refused("lock release operation doesn't take variable items"));
    }
    let named = lock.filter(|l| !l.id.is_empty());
    let lock_id = named.ok_or_else(|| refused("missing lock information"))?.id;
    let change = VariableChange::Release;
    let written = commit(server, VariableWrite { key, change, cas: None, lock_id, now: ids::now() }).await?;
    match written.reply {
        VariableReply::Missing => Err(Error::not_found("variable doesn't exist")),
        VariableReply::NotLocked => Err(Error::not_locked()),
        _ => Ok(written),
    }
}

/// Renews a lock. Returns the variable.
///
/// # Errors
/// 404: the variable does not exist. 409: the lock has expired or has a different ID. 500: the lock ID is missing, or
/// the variable is not locked. There is no leader.
pub async fn renew(server: &Leading, key: &(String, String), lock_id: &str) -> Result<Arc<VariableEncrypted>, Error> {
    server.wait_ready().await?;
    if lock_id.is_empty() {
        return Err(Error::internal(multi_error(&["missing lock ID"])));
    }
    let stored = server.snapshot().variable(&key.0, &key.1).cloned();
    let variable = stored.ok_or_else(|| Error::not_found("variable doesn't exist"))?;
    let lock = variable.lock.as_ref().ok_or_else(Error::not_locked)?;
    if lock.id != lock_id || !server.queues().locks().renew(key, lock_id, ids::steady()) {
        return Err(Error::new(ErrorKind::Conflict, "attempting to modify locked variable"));
    }
    Ok(variable)
}

/// The texts of variable errors contain the prefix of an inner error.
fn refused(reason: impl Display) -> Error {
    Error::bad(format!("RPC Error:: 400,{reason}"))
}

fn check(key: &(String, String), items: &Items) -> Result<(), Error> {
    if key.0 == "*" {
        return Err(refused("can not target wildcard (\"*\")namespace"));
    }
    if items.size() > MAX_SIZE {
        return Err(refused("variables are limited to 64KiB in total size"));
    }
    check_path(&key.1).map_err(refused)
}

/// Why a path cannot be that of a variable (`docs/spec/http-api.md §8.2`).
#[derive(Debug, PartialEq, thiserror::Error)]
enum PathError {
    #[error("invalid path {}", quoted(.0))]
    Invalid(String),
    #[error(
        "\"nomad\" is a reserved top-level directory path, but you may write variables to \"nomad/jobs\", \
         \"nomad/job-templates\", \"nomad/sentinel\", or below"
    )]
    Nomad,
    #[error(
        "\"nomad/job-templates\" is a reserved directory path, but you may write variables \
         at the level below it, for example, \"nomad/job-templates/template-name\""
    )]
    JobTemplates,
    #[error(
        "only paths at \"nomad/jobs\" or \"nomad/job-templates\" and below are valid paths under the \
         top-level \"nomad\" directory"
    )]
    BelowNomad,
}

/// Validates the path of a variable.
fn check_path(path: &str) -> Result<(), PathError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '~' | '/');
    if !(1..=128).contains(&path.len()) || !path.chars().all(fine) {
        return Err(PathError::Invalid(path.into()));
    }
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["nomad"] => Err(PathError::Nomad),
        ["nomad", "jobs" | "sentinel", ..] | ["nomad", "job-templates", _] => Ok(()),
        ["nomad", "job-templates"] => Err(PathError::JobTemplates),
        ["nomad", ..] => Err(PathError::BelowNomad),
        _ => Ok(()),
    }
}

/// Sets the defaults of a lock and validates it (`docs/spec/http-api.md §8.4`).
fn check_lock(lock: &mut VariableLock) -> Result<(), Error> {
    for duration in [&mut lock.ttl, &mut lock.lock_delay] {
        if *duration == 0 {
            *duration = LOCK_DEFAULT;
        }
    }
    let mut wrong = Vec::new();
    if lock.ttl < 0 || lock.lock_delay < 0 {
        wrong.push("Lock delay and TTL must be positive");
    }
    if !(10 * SECOND..=24 * HOUR).contains(&lock.ttl) {
        wrong.push("TTL must be between 10 seconds and 24 hours");
    }
    if wrong.is_empty() { Ok(()) } else { Err(refused(multi_error(&wrong))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        for path in ["app/config", "nomad/jobs", "nomad/jobs/web/g", "nomad/job-templates/x", "nomads", "a~b_c-d"] {
            assert_eq!(check_path(path), Ok(()), "{path}");
        }
        for (path, text) in [
            ("app.config", "invalid path \"app.config\""),
            ("nomad", "\"nomad\" is a reserved"),
            ("nomad/zzz", "only paths at"),
            ("nomad/job-templates", "\"nomad/job-templates\" is a reserved"),
            ("nomad/job-templates/a/b", "only paths at"),
        ] {
            assert!(check_path(path).unwrap_err().to_string().starts_with(text), "{path}");
        }
        assert!(check_path(&"a".repeat(129)).is_err());
    }

    #[test]
    fn locks_have_defaults_and_limits() {
        let checked = |ttl: i64, delay: i64| {
            let mut lock = VariableLock { id: String::new(), ttl, lock_delay: delay };
            check_lock(&mut lock).map(|()| (lock.ttl, lock.lock_delay)).map_err(|e| e.message)
        };
        assert_eq!(checked(0, 0), Ok((15 * SECOND, 15 * SECOND)));
        assert_eq!(checked(10 * SECOND, 1), Ok((10 * SECOND, 1)));
        assert_eq!(checked(24 * HOUR, SECOND), Ok((24 * HOUR, SECOND)));
        let range = "\t* TTL must be between 10 seconds and 24 hours\n";
        let negative = "\t* Lock delay and TTL must be positive\n";
        let one = |text: &str| Err(format!("RPC Error:: 400,1 error occurred:\n{text}\n"));
        assert_eq!(checked(SECOND, 0), one(range));
        assert_eq!(checked(24 * HOUR + 1, 0), one(range));
        assert_eq!(checked(0, -1), one(negative));
        assert_eq!(checked(-1, 0), Err(format!("RPC Error:: 400,2 errors occurred:\n{negative}{range}\n")));
    }

    #[test]
    fn size_counts_keys_and_values() {
        let key = ("default".to_string(), "a".to_string());
        let items = |n: usize| Items([("k".to_string(), "v".repeat(n))].into());
        assert!(check(&key, &items(MAX_SIZE - 1)).is_ok());
        let e = check(&key, &items(MAX_SIZE)).unwrap_err();
        assert_eq!(
            (e.status(), e.message.as_str()),
            (400, "RPC Error:: 400,variables are limited to 64KiB in total size")
        );
    }
}
