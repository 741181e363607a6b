//! Variables: checked writes, locks (`docs/spec/http-api.md §8`). Items are already encrypted here.

use std::sync::Arc;

use super::txn::Txn;
use encamp_model::VariableEncrypted;
use encamp_ops::{Refusal, Sealed, VariableChange, VariableReply, VariableWrite};

/// Writes, removes, locks or releases a variable, and returns the outcome. Conflicts write nothing. Items whose key was
/// removed meanwhile are refused, because they could not be decrypted.
pub(crate) fn write(txn: &mut Txn, w: &VariableWrite) -> Result<VariableReply, Refusal> {
    if let VariableChange::Set(sealed) | VariableChange::Acquire(sealed, _) = &w.change
        && txn.store.root_key(&sealed.key_id).is_none()
    {
        return Err(Refusal::KeyNotFound);
    }
    Ok(decide(txn, w))
}

fn decide(txn: &mut Txn, w: &VariableWrite) -> VariableReply {
    let (namespace, path) = (w.key.0.as_str(), w.key.1.as_str());
    let stored = txn.store.variable(namespace, path).cloned();
    let lock = stored.as_ref().and_then(|v| v.lock.as_ref());
    match (&w.change, lock) {
        (VariableChange::Release, None) if stored.is_none() => return VariableReply::Missing,
        (VariableChange::Release, None) => return VariableReply::NotLocked,
        (_, Some(held)) if held.id != w.lock_id => return VariableReply::Locked,
        // A writer that lost its lock does not know about writes since then.
        (VariableChange::Set(_) | VariableChange::Delete, None) if !w.lock_id.is_empty() => {
            return VariableReply::Locked;
        }
        _ => {}
    }
    if w.cas.is_some_and(|n| n != stored.as_ref().map_or(0, |v| v.modify_index)) {
        return VariableReply::Conflict(stored);
    }
    let next = match (&w.change, stored) {
        (VariableChange::Set(sealed), stored) => {
            let lock = stored.as_ref().and_then(|v| v.lock.clone());
            VariableEncrypted { lock, ..with_items(txn, w, stored.as_deref(), sealed) }
        }
        (VariableChange::Acquire(sealed, lock), stored) => {
            VariableEncrypted { lock: Some(lock.clone()), ..with_items(txn, w, stored.as_deref(), sealed) }
        }
        // Releasing a lock does not change the items: the modify time stays.
        (VariableChange::Release, Some(v)) => {
            VariableEncrypted { lock: None, modify_index: txn.index, ..VariableEncrypted::clone(&v) }
        }
        (VariableChange::Release, None) => return VariableReply::Missing,
        (VariableChange::Delete, _) => {
            txn.remove_variable(namespace, path);
            return VariableReply::Written(None);
        }
    };
    let next = Arc::new(next);
    txn.put_variable(next.clone());
    VariableReply::Written(Some(next))
}

fn with_items(txn: &Txn, w: &VariableWrite, stored: Option<&VariableEncrypted>, sealed: &Sealed) -> VariableEncrypted {
    VariableEncrypted {
        namespace: w.key.0.clone(),
        path: w.key.1.clone(),
        lock: None,
        create_index: stored.map_or(txn.index, |v| v.create_index),
        create_time: stored.map_or(w.now, |v| v.create_time),
        modify_index: txn.index,
        modify_time: w.now,
        data: sealed.data.clone(),
        key_id: sealed.key_id.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fsm::{Change, Limits, apply};
    use crate::tests::refusal;
    use encamp_model::{Bytes, Namespace, RootKey, SECOND, VariableLock, WrappedRootKey};
    use encamp_ops::{Operation, Reply};
    use encamp_state::{StateStore, Table};

    fn sealed(text: &str) -> Sealed {
        Sealed { key_id: "k1".into(), data: Bytes(text.into()) }
    }

    fn lock(id: &str) -> VariableLock {
        VariableLock { id: id.into(), ttl: 20 * SECOND, lock_delay: SECOND }
    }

    /// A store with a root key.
    fn new_store() -> StateStore {
        let mut store = StateStore::new();
        let meta = RootKey { key_id: "k1".into(), ..Default::default() };
        store.put_root_key(Arc::new(WrappedRootKey { meta, ..Default::default() }));
        store
    }

    /// A write; the entry's index is also its time.
    fn send(
        store: &mut StateStore,
        index: u64,
        change: VariableChange,
        cas: Option<u64>,
        lock_id: &str,
    ) -> VariableReply {
        let key = ("default".to_string(), "a".to_string());
        let write = VariableWrite { key, change, cas, lock_id: lock_id.into(), now: index as i64 };
        let before = store.index_of(Table::Variables);
        let applied = apply(store, index, &Operation::Variable(Box::new(write)), Limits::default());
        let written = applied.changes.iter().any(|c| matches!(c, Change::Variable(_) | Change::VariableGone(_)));
        assert_eq!(store.index_of(Table::Variables), if written { index } else { before });
        match applied.reply {
            Reply::Variable(reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    fn set(store: &mut StateStore, index: u64, cas: Option<u64>, lock_id: &str) -> VariableReply {
        send(store, index, VariableChange::Set(sealed(&index.to_string())), cas, lock_id)
    }

    fn written(reply: VariableReply) -> VariableEncrypted {
        match reply {
            VariableReply::Written(Some(v)) => VariableEncrypted::clone(&v),
            other => panic!("{other:?}"),
        }
    }

    /// A store with a variable that was written at 10 and 11.
    fn stored() -> StateStore {
        let mut store = new_store();
        written(set(&mut store, 10, None, ""));
        written(set(&mut store, 11, None, ""));
        store
    }

    #[test]
    fn check_and_set() {
        // `docs/spec/http-api.md §8.3`, for both writes and removals.
        for remove in [false, true] {
            for (cas, exists, fits) in [
                (None, false, true),
                (None, true, true),
                (Some(0), false, true),
                (Some(0), true, false),
                (Some(11), true, true),
                (Some(10), true, false),
                (Some(12), true, false),
                (Some(77), false, false),
            ] {
                let mut store = if exists { stored() } else { new_store() };
                let before = store.variable("default", "a").cloned();
                let change = if remove { VariableChange::Delete } else { VariableChange::Set(sealed("new")) };
                let reply = send(&mut store, 20, change, cas, "");
                let case = format!("cas {cas:?} exists {exists} remove {remove}");
                let now = store.variable("default", "a").cloned();
                if !fits {
                    assert_eq!((reply, now), (VariableReply::Conflict(before.clone()), before), "{case}");
                } else if remove {
                    assert_eq!((reply, now), (VariableReply::Written(None), None), "{case}");
                } else {
                    let v = written(reply);
                    let made = if exists { 10 } else { 20 };
                    assert_eq!(
                        (v.create_index, v.create_time, v.modify_index, v.modify_time),
                        (made, made as i64, 20, 20),
                        "{case}"
                    );
                    assert_eq!((v.data.0.as_slice(), v.key_id.as_str(), v.lock), (&b"new"[..], "k1", None), "{case}");
                }
            }
        }
    }

    #[test]
    fn locks() {
        let mut store = stored();
        let acquire = |id: &str| VariableChange::Acquire(sealed("mine"), lock(id));
        let v = written(send(&mut store, 20, acquire("l1"), None, "l1"));
        assert_eq!(
            (v.lock, v.data.0.as_slice(), v.create_index, v.modify_index),
            (Some(lock("l1")), &b"mine"[..], 10, 20)
        );
        // No other client can write, remove, acquire or release.
        assert_eq!(set(&mut store, 21, None, ""), VariableReply::Locked);
        assert_eq!(set(&mut store, 21, Some(1), "l2"), VariableReply::Locked, "before the index is checked");
        assert_eq!(send(&mut store, 21, VariableChange::Delete, None, ""), VariableReply::Locked);
        assert_eq!(send(&mut store, 21, acquire("l2"), None, "l2"), VariableReply::Locked);
        assert_eq!(send(&mut store, 21, VariableChange::Release, None, "l2"), VariableReply::Locked);
        // The holder can write; the lock does not change.
        let v = written(set(&mut store, 22, Some(20), "l1"));
        assert_eq!((v.lock, v.data.0.as_slice()), (Some(lock("l1")), &b"22"[..]));
        let longer = VariableLock { ttl: 60 * SECOND, ..lock("l1") };
        let again = VariableChange::Acquire(sealed(""), longer.clone());
        let v = written(send(&mut store, 23, again, None, "l1"));
        assert_eq!((v.lock, v.data.is_empty(), v.modify_time), (Some(longer), true, 23));
        // A server releases the lock that it saw; a lock that was acquired again since is not released.
        let reply = send(&mut store, 24, VariableChange::Release, Some(22), "l1");
        assert!(matches!(reply, VariableReply::Conflict(Some(v)) if v.modify_index == 23));
        let v = written(send(&mut store, 25, VariableChange::Release, None, "l1"));
        assert_eq!((v.lock, v.create_index, v.modify_index, v.modify_time), (None, 10, 25, 23), "items and time stay");
        assert_eq!(send(&mut store, 26, VariableChange::Release, None, "l1"), VariableReply::NotLocked);
        // A former holder of the lock cannot overwrite other writes.
        assert_eq!(set(&mut store, 26, None, "l1"), VariableReply::Locked);
        assert_eq!(send(&mut store, 26, VariableChange::Delete, None, "l1"), VariableReply::Locked);
        written(send(&mut store, 27, acquire("l3"), None, "l3"));
        assert_eq!(send(&mut store, 28, VariableChange::Delete, None, "l3"), VariableReply::Written(None));
        assert_eq!(send(&mut store, 29, VariableChange::Release, None, "l3"), VariableReply::Missing);
        let v = written(send(&mut store, 30, acquire("l4"), None, "l4"));
        assert_eq!((v.create_index, v.lock), (30, Some(lock("l4"))), "acquiring a lock creates the variable");
    }

    #[test]
    fn namespaces_with_variables_stay() {
        let mut store = new_store();
        let apps = Namespace { name: "apps".into(), ..Default::default() };
        apply(&mut store, 2, &Operation::NamespaceUpsert { namespaces: vec![apps] }, Limits::default());
        let key = ("apps".to_string(), "a".to_string());
        let write = |change| VariableWrite { key: key.clone(), change, cas: None, lock_id: String::new(), now: 0 };
        let op = |change| Operation::Variable(Box::new(write(change)));
        apply(&mut store, 3, &op(VariableChange::Set(sealed("x"))), Limits::default());
        let remove = Operation::NamespaceDelete { names: vec!["apps".into()] };
        let refused = "namespace \"apps\" contains at least one variable";
        assert_eq!(refusal(apply(&mut store, 4, &remove, Limits::default()).reply), refused);
        apply(&mut store, 5, &op(VariableChange::Delete), Limits::default());
        assert_eq!(apply(&mut store, 6, &remove, Limits::default()).reply, Reply::Done);
    }

    #[test]
    fn items_of_removed_keys_are_refused() {
        let mut store = stored();
        store.remove_root_key("k1");
        let key = ("default".to_string(), "a".to_string());
        for change in [VariableChange::Set(sealed("x")), VariableChange::Acquire(sealed("x"), lock("l"))] {
            let write = VariableWrite { key: key.clone(), change, cas: None, lock_id: "l".into(), now: 0 };
            let reply = apply(&mut store, 20, &Operation::Variable(Box::new(write)), Limits::default()).reply;
            assert_eq!(refusal(reply), "root key not found");
        }
        assert_eq!(send(&mut store, 21, VariableChange::Delete, None, ""), VariableReply::Written(None));
    }
}
