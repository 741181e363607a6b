//! Files on a disk in memory, as the server uses them.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Change, Disk};

/// An open file.
pub struct File {
    disk: Arc<Disk>,
    inode: u64,
    at: Mutex<u64>,
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "File({})", self.inode)
    }
}

impl File {
    pub(super) fn new(disk: &Arc<Disk>, inode: u64) -> File {
        File { disk: disk.clone(), inode, at: Mutex::new(0) }
    }

    fn at(&self) -> MutexGuard<'_, u64> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        read(self.disk.lock().inodes.get(&self.inode).map_or(&[], |i| &i.now))
    }

    /// Its length.
    pub fn length(&self) -> u64 {
        self.with(|now| now.len() as u64)
    }

    /// Cuts it, or fills it with zeros.
    pub fn set_length(&self, length: u64) {
        self.disk.change(self.inode, Change::Length(length));
    }

    /// Writes at a place.
    pub fn write_at(&self, bytes: &[u8], at: u64) {
        self.disk.change(self.inode, Change::Write(at, bytes.to_vec()));
    }

    /// Reads at a place, all that is asked for.
    pub fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        self.with(|now| {
            let part = now.get(at as usize..at as usize + into.len());
            part.map(|part| into.copy_from_slice(part)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        })
    }

    /// Makes it durable. Where data alone is asked for, a disk may lie.
    ///
    /// # Errors
    /// The disk's power was cut.
    pub fn sync(&self, data_alone: bool) -> io::Result<()> {
        self.disk.sync(self.inode, data_alone)
    }
}

impl Read for &File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut at = self.at();
        let n = self.with(|now| {
            let rest = now.get(*at as usize..).unwrap_or_default();
            let n = rest.len().min(into.len());
            into[..n].copy_from_slice(&rest[..n]);
            n
        });
        *at += n as u64;
        Ok(n)
    }
}

impl Write for &File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut at = self.at();
        self.write_at(bytes, *at);
        *at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut at = self.at();
        let (base, by) = match to {
            SeekFrom::Start(n) => (0, n as i64),
            SeekFrom::End(n) => (self.length(), n),
            SeekFrom::Current(n) => (*at, n),
        };
        *at = base.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(*at)
    }
}
