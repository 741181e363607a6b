//! Re-encrypts variables after a key rotation (`docs/spec/garbage-collection.md §11.3`).

use std::sync::Arc;
use std::time::Duration;

use super::keys::in_state;
use super::triggers::enqueue;
use crate::error::Error;
use crate::evals::core_job::CoreJob;
use crate::leading::Leading;
use encamp_host::ids;
use encamp_host::threads::Instant;
use encamp_model::token_bucket::TokenBucket;
use encamp_model::{RootKeyState, VariableEncrypted, duration};
use encamp_ops::{Operation, VariableChange, VariableWrite};
use encamp_state::StoreSnapshot;

/// How long one evaluation runs: half the nack timeout, after which it would be delivered to another worker.
const BUDGET: Duration = Duration::from_secs(30);
/// Writes per second, and their burst size.
const RATE: f64 = 100.0;

/// Re-encrypts the variables of all keys that are being rekeyed; these keys then become inactive. The next evaluation
/// continues after a timeout.
pub(super) async fn run(server: &Leading, snapshot: &StoreSnapshot) -> Result<(), Error> {
    if !within(server, snapshot, BUDGET).await? {
        enqueue(server, CoreJob::Rekey);
    }
    Ok(())
}

/// Runs for at most `budget`. Returns false if it ran out of time.
async fn within(server: &Leading, snapshot: &StoreSnapshot, budget: Duration) -> Result<bool, Error> {
    let started = Instant::now();
    let mut rate = TokenBucket::per_second(RATE, RATE);
    for key in snapshot.root_keys().filter(|k| k.meta.state == RootKeyState::Rekeying) {
        let key_id = key.meta.key_id.as_str();
        // Newer than the snapshot: includes the variables that were written while the key was active.
        let variables: Vec<Arc<VariableEncrypted>> = server.snapshot().variables_of_key(key_id).cloned().collect();
        for v in variables {
            if started.elapsed() >= budget {
                tracing::info!(target: "nomad.core.sched", key_id, "timeout reached rekeying variables");
                return Ok(false);
            }
            let wait = rate.take(ids::steady(), 1.0);
            tokio::time::sleep(duration::of_nanos(wait)).await;
            rewrite(server, &v).await?;
        }
        if server.snapshot().variables_of_key(key_id).next().is_none() {
            server.commit_shared(in_state(key, RootKeyState::Inactive).into()).await?;
            tracing::info!(target: "nomad.core.sched", key_id, "variables successfully rekeyed and key marked inactive");
        }
    }
    Ok(true)
}

/// Writes a variable unchanged, encrypted with the active key. A variable that another client wrote meanwhile is
/// skipped, and so is one that cannot be decrypted: its key stays.
async fn rewrite(server: &Leading, v: &VariableEncrypted) -> Result<(), Error> {
    let plain = match server.keyring().decrypt(&v.key_id, &v.data.0) {
        Ok(plain) => plain,
        Err(error) => {
            let (namespace, path) = (v.namespace.as_str(), v.path.as_str());
            tracing::error!(target: "nomad.core.sched", namespace, path, %error, "failed to rekey a variable");
            return Ok(());
        }
    };
    let write = VariableWrite {
        key: (v.namespace.clone(), v.path.clone()),
        change: VariableChange::Set(server.keyring().encrypt(&plain)?),
        cas: Some(v.modify_index),
        lock_id: v.lock.as_ref().map(|l| l.id.clone()).unwrap_or_default(),
        now: ids::now(),
    };
    server.commit_shared(Operation::Variable(Box::new(write)).into()).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoints::variables::{self, Items};
    use crate::keyring::new_key;
    use crate::tests::{Dir, start};
    use encamp_model::VariableLock;

    #[tokio::test(flavor = "multi_thread")]
    async fn all_variables_get_the_new_key() {
        let dir = Dir::new();
        let server = start(&dir, &ids::uuid()).await;
        let key = |path: &str| ("default".to_string(), path.to_string());
        let items = || Items([("k".to_string(), "v".to_string())].into());
        for path in ["a", "b"] {
            variables::put(&server, key(path), items(), None, None).await.unwrap();
        }
        let lock = VariableLock { id: "held".into(), ..Default::default() };
        variables::acquire(&server, key("c"), items(), Some(lock.clone())).await.unwrap();
        let before = server.snapshot();
        let old = before.active_root_key().unwrap().meta.key_id.clone();
        assert_eq!(before.variables_of_key(&old).count(), 3);

        let new = new_key(RootKeyState::Active, 0).await.unwrap();
        server.commit(Operation::RootKeyUpsert { key: new.clone(), rekey: true }).await.unwrap();
        assert!(!within(&server, &server.snapshot(), Duration::ZERO).await.unwrap(), "no time budget");
        assert_eq!(server.snapshot().root_key(&old).unwrap().meta.state, RootKeyState::Rekeying);
        assert_eq!(server.snapshot().variables_of_key(&old).count(), 3);

        run(&server, &server.snapshot()).await.unwrap();
        let after = server.snapshot();
        assert_eq!(after.root_key(&old).unwrap().meta.state, RootKeyState::Inactive);
        assert_eq!((after.variables_of_key(&old).count(), after.variables_of_key(&new.meta.key_id).count()), (0, 3));
        for (was, is) in before.variables().zip(after.variables()) {
            assert!(is.modify_index > was.modify_index && is.data != was.data);
            assert_eq!((is.create_index, &is.lock), (was.create_index, &was.lock));
            assert!(variables::open(&server, is).unwrap() == items());
        }
        // A key in use is not deleted, an unused one is.
        let delete = |id: &str, force| Operation::RootKeyDelete { id: id.into(), force };
        let refused = server.commit(delete(&new.meta.key_id, false)).await.unwrap_err();
        assert_eq!(refused.message, "root key in use, cannot delete");
        server.commit(delete(&old, false)).await.unwrap();
        server.commit(delete(&new.meta.key_id, true)).await.unwrap();
        let lost = after.variable("default", "a").unwrap();
        assert!(variables::open(&server, lost).is_err_and(|e| e.message.contains(&new.meta.key_id)));
        server.shutdown().await;
    }
}
