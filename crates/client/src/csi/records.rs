//! The CSI volumes that this node has mounted, or tries to mount or unmount, as they are stored: no call of a plugin for
//! a volume is made that is not recorded before (`docs/spec/client.md §24.2`). Nothing here is secret.

use std::io;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::store::Store;

/// Everything stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MountRecords {
    /// Which start of the host the mounts are of: its next one has none of them.
    pub boot_id: String,
    /// One for each allocation and volume.
    pub mounts: Vec<MountRecord>,
}

/// A volume of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MountRecord {
    /// What is mounted for whom.
    #[serde(flatten)]
    pub key: MountKey,
    /// The plugin; empty until the volume is claimed.
    pub plugin_id: String,
    /// The storage provider's ID of the volume; empty until the volume is claimed.
    pub external_id: String,
    /// The plugin stages volumes.
    pub staged: bool,
    /// What was done.
    pub phase: Phase,
}

/// An allocation and one of its volumes.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct MountKey {
    /// The allocation.
    pub alloc_id: String,
    /// The namespace of the volume.
    pub namespace: String,
    /// The volume.
    pub volume_id: String,
}

/// What was done for a volume of an allocation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// Servers may have stored the claim; nothing is mounted.
    #[default]
    Claiming,
    /// It may be staged and mounted.
    Mounting,
    /// It is mounted.
    Mounted,
    /// It is to be unmounted; it may still be mounted and staged.
    Unmounting,
    /// Nothing is mounted any more; servers may still store the claim.
    Unmounted,
}

impl Phase {
    /// Whether a plugin may still have the volume mounted.
    pub(crate) fn may_be_mounted(self) -> bool {
        match self {
            Phase::Mounting | Phase::Mounted | Phase::Unmounting => true,
            Phase::Claiming | Phase::Unmounted => false,
        }
    }
}

impl MountRecords {
    /// The records as they are after a start of the host: after another one, nothing is certain to be mounted.
    pub(crate) fn after_start(mut self, boot_id: &str) -> MountRecords {
        if self.boot_id != boot_id {
            self.boot_id = boot_id.into();
            self.mounts.iter_mut().filter(|m| m.phase == Phase::Mounted).for_each(|m| m.phase = Phase::Mounting);
        }
        self
    }

    fn find(&self, key: &MountKey) -> Option<&MountRecord> {
        self.mounts.iter().find(|m| m.key == *key)
    }

    /// The other allocations that use the volume of a record by way of the same plugin.
    pub(crate) fn others<'a>(&'a self, of: &'a MountRecord) -> impl Iterator<Item = &'a MountRecord> {
        let same = |m: &&MountRecord| m.plugin_id == of.plugin_id && m.external_id == of.external_id && m.key != of.key;
        self.mounts.iter().filter(move |m| same(m))
    }
}

/// The records of a running node. They change one after another, each change is stored before it counts.
pub(crate) struct Mounts(Mutex<MountRecords>);

impl Mounts {
    pub(crate) fn new(records: MountRecords) -> Mounts {
        Mounts(Mutex::new(records))
    }

    pub(crate) fn get(&self, key: &MountKey) -> Option<MountRecord> {
        self.0.lock().find(key).cloned()
    }

    pub(crate) fn read<T>(&self, part: impl FnOnce(&MountRecords) -> T) -> T {
        part(&self.0.lock())
    }

    /// What is recorded for an allocation.
    pub(crate) fn of_alloc(&self, alloc_id: &str) -> Vec<MountKey> {
        self.read(|r| r.mounts.iter().filter(|m| m.key.alloc_id == alloc_id).map(|m| m.key.clone()).collect())
    }

    /// Stores a record in place of the one with its key.
    pub(crate) fn put(&self, store: &Store, record: MountRecord) -> io::Result<()> {
        self.change(store, |records| match records.mounts.iter_mut().find(|m| m.key == record.key) {
            Some(old) => *old = record,
            None => records.mounts.push(record),
        })
    }

    /// Forgets a record.
    pub(crate) fn remove(&self, store: &Store, key: &MountKey) -> io::Result<()> {
        self.change(store, |records| records.mounts.retain(|m| m.key != *key))
    }

    fn change(&self, store: &Store, change: impl FnOnce(&mut MountRecords)) -> io::Result<()> {
        let mut records = self.0.lock();
        let mut new = records.clone();
        change(&mut new);
        store.put_mounts(&new)?;
        *records = new;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    fn record(alloc: &str, volume: &str, phase: Phase) -> MountRecord {
        let key = MountKey { alloc_id: alloc.into(), namespace: "default".into(), volume_id: volume.into() };
        MountRecord { key, plugin_id: "disks".into(), external_id: format!("x-{volume}"), staged: true, phase }
    }

    #[test]
    fn records_are_stored() {
        let dir = TempDir::new("csi-records");
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(store.mounts::<MountRecords>().unwrap(), MountRecords::default());
        let mounts = Mounts::new(MountRecords::default().after_start("b1"));
        mounts.put(&store, record("a", "v", Phase::Claiming)).unwrap();
        mounts.put(&store, record("a", "w", Phase::Claiming)).unwrap();
        mounts.put(&store, record("a", "v", Phase::Mounted)).unwrap();
        mounts.remove(&store, &record("a", "w", Phase::Claiming).key).unwrap();
        let stored: MountRecords = store.mounts().unwrap();
        assert_eq!(stored.mounts, [record("a", "v", Phase::Mounted)]);
        assert_eq!(stored.clone().after_start("b1").mounts[0].phase, Phase::Mounted);
        assert_eq!(stored.after_start("b2").mounts[0].phase, Phase::Mounting);
        assert_eq!(mounts.of_alloc("a").len(), 1);
        assert!(mounts.of_alloc("b").is_empty());
    }

    #[test]
    fn users_of_a_volume_are_counted() {
        let mounts = vec![
            record("a", "v", Phase::Mounted),
            record("b", "v", Phase::Unmounting),
            record("a", "w", Phase::Mounted),
            record("c", "v", Phase::Unmounted),
        ];
        let records = MountRecords { boot_id: String::new(), mounts };
        let others: Vec<_> = records.others(&records.mounts[0]).map(|m| m.key.alloc_id.as_str()).collect();
        assert_eq!(others, ["b", "c"]);
        assert!(records.mounts[1].phase.may_be_mounted() && !records.mounts[3].phase.may_be_mounted());
        assert_eq!(records.others(&records.mounts[2]).count(), 0);
    }
}
