//! The networks of allocations that this node made, or tries to make or remove, as they are stored: no namespace is made
//! and no plugin is called before that is recorded (`docs/spec/client.md §15.3`). Lists of plugins may hold secrets.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chain::Attachment;
use crate::store::Store;

/// How far the network of an allocation is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// It is being made; any part of it may exist.
    #[default]
    Connecting,
    /// It is complete.
    Connected,
    /// It is being removed; any part of it may still exist.
    Disconnecting,
}

/// The network of an allocation.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkRecord {
    /// How far it is.
    pub phase: Phase,
    /// The network mode of the group.
    pub mode: String,
    /// The namespace.
    pub namespace: PathBuf,
    /// The driver that makes the namespace; empty: the agent does.
    pub creator: String,
    /// What that driver keeps of it.
    pub created: Value,
    /// What plugins do; none: the namespace has nothing but a loopback.
    pub(crate) attachment: Option<Attachment>,
    /// An earlier run of the agent recorded it: what that run started may still be at work.
    #[serde(skip)]
    pub(crate) earlier: bool,
}

/// The networks of all allocations, by ID of the allocation.
#[derive(Default)]
pub struct Networks {
    records: Mutex<BTreeMap<String, NetworkRecord>>,
    /// Held while a chain of the firewall is read and changed.
    pub(crate) firewall: Mutex<()>,
}

impl Networks {
    /// Starts with those that an earlier run of the agent recorded.
    pub(crate) fn new(mut records: BTreeMap<String, NetworkRecord>) -> Networks {
        records.values_mut().for_each(|r| r.earlier = true);
        Networks { records: Mutex::new(records), firewall: Mutex::default() }
    }

    /// The record of an allocation.
    pub(crate) fn get(&self, alloc_id: &str) -> Option<NetworkRecord> {
        self.records.lock().get(alloc_id).cloned()
    }

    /// Reads a part of the record of an allocation.
    pub(crate) fn read<T>(&self, alloc_id: &str, part: impl FnOnce(&NetworkRecord) -> T) -> Option<T> {
        self.records.lock().get(alloc_id).map(part)
    }

    /// Stores the record of an allocation.
    pub(crate) fn put(&self, store: &Store, alloc_id: &str, record: NetworkRecord) -> io::Result<()> {
        store.put_network(alloc_id, &record)?;
        self.records.lock().insert(alloc_id.into(), record);
        Ok(())
    }

    /// Forgets the network of an allocation: nothing is left of it.
    pub(crate) fn forget(&self, store: &Store, alloc_id: &str) -> io::Result<()> {
        store.delete_network(alloc_id)?;
        self.records.lock().remove(alloc_id);
        Ok(())
    }

    /// The allocations that have one.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.records.lock().keys().cloned().collect()
    }
}
