//! The state of a running agent, which is stored with each change.

use std::io;

use parking_lot::Mutex;

use super::records::ClientRecord;
use super::state_dir::Store;

/// The state of a running agent. Changes are made and stored one after another: of two at once, one would be lost.
pub(crate) struct SharedClientRecord(Mutex<ClientRecord>);

impl SharedClientRecord {
    /// Starts with the stored state.
    pub(crate) fn new(record: ClientRecord) -> SharedClientRecord {
        SharedClientRecord(Mutex::new(record))
    }

    /// Reads a part of the state.
    pub(crate) fn read<T>(&self, part: impl FnOnce(&ClientRecord) -> T) -> T {
        part(&self.0.lock())
    }

    /// Changes the state in memory only; the next change stores it too.
    pub(crate) fn change(&self, change: impl FnOnce(&mut ClientRecord)) {
        change(&mut self.0.lock());
    }

    /// Changes the state and stores it; it stays as it was if it cannot be stored.
    pub(crate) fn store(&self, store: &Store, change: impl FnOnce(&mut ClientRecord)) -> io::Result<()> {
        let mut record = self.0.lock();
        let mut new = record.clone();
        change(&mut new);
        store.put_client(&new)?;
        *record = new;
        Ok(())
    }
}
