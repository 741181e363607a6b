//! Files on a disk in memory.

use std::io;
use std::sync::Arc;

use encamp_host::simulation;

use super::{Change, Disk};

/// An open file.
pub(crate) struct File {
    disk: Arc<Disk>,
    inode: u64,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "File({})", self.inode)
    }
}

impl File {
    pub(super) fn new(disk: &Arc<Disk>, inode: u64) -> File {
        File { disk: disk.clone(), inode }
    }

    fn with<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        read(self.disk.lock().inodes.get(&self.inode).map_or(&[], |i| &i.now))
    }
}

impl simulation::File for File {
    fn length(&self) -> u64 {
        self.with(|now| now.len() as u64)
    }

    fn set_length(&self, length: u64) {
        self.disk.change(self.inode, Change::Length(length));
    }

    fn write_at(&self, bytes: &[u8], at: u64) {
        self.disk.change(self.inode, Change::Write(at, bytes.to_vec()));
    }

    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        self.with(|now| {
            let part = now.get(at as usize..at as usize + into.len());
            part.map(|part| into.copy_from_slice(part)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        })
    }

    fn sync(&self, data_alone: bool) -> io::Result<()> {
        self.disk.sync(self.inode, data_alone)
    }
}
