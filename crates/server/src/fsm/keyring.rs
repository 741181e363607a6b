//! Root keys (`docs/spec/garbage-collection.md §11.1`).

use std::sync::Arc;

use super::txn::Txn;
use encamp_model::{RootKeyState, WrappedRootKey};
use encamp_ops::Refusal;
use encamp_state::Table;

/// Writes a key. A key that becomes active replaces the previous active key.
pub(crate) fn put(txn: &mut Txn, key: &WrappedRootKey, rekey: bool) -> Result<(), Refusal> {
    let active = key.meta.state == RootKeyState::Active;
    if rekey && !active {
        return Err(Refusal::RekeyInactive);
    }
    let mut key = key.clone();
    let old = txn.store.root_key(&key.meta.key_id).map(|k| &k.meta);
    (key.meta.create_index, key.meta.create_time) =
        old.map_or((txn.index, key.meta.create_time), |o| (o.create_index, o.create_time));
    key.meta.modify_index = txn.index;
    if active {
        let to = if rekey { RootKeyState::Rekeying } else { RootKeyState::Inactive };
        let others = txn.store.root_keys().filter(|k| k.meta.key_id != key.meta.key_id);
        let replaced = |k: &&Arc<WrappedRootKey>| match k.meta.state {
            RootKeyState::Active => true,
            RootKeyState::Inactive => rekey,
            _ => false,
        };
        let replaced: Vec<_> = others.filter(replaced).cloned().collect();
        for mut k in replaced {
            let meta = &mut Arc::make_mut(&mut k).meta;
            (meta.state, meta.modify_index) = (to.clone(), txn.index);
            txn.store.put_root_key(k);
        }
    }
    txn.store.put_root_key(Arc::new(key));
    txn.other(Table::RootKeys);
    Ok(())
}

/// Removes a key; without `force` only if no variable is encrypted with it.
pub(crate) fn delete(txn: &mut Txn, id: &str, force: bool) -> Result<(), Refusal> {
    if !force && txn.store.variables_of_key(id).next().is_some() {
        return Err(Refusal::KeyInUse);
    }
    if txn.store.remove_root_key(id).is_none() {
        return Err(Refusal::KeyNotFound);
    }
    txn.other(Table::RootKeys);
    Ok(())
}
