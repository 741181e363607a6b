//! Files of Windows. They have no mode and no owner that could be compared: access lists decide, which a file inherits
//! from its directory. Directories of a user's profile are closed to other users.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::fs::{FileExt as _, MetadataExt};
use std::path::Path;

/// The mode of new directories, which this system does not have.
pub trait DirBuilderExt {
    /// Does nothing.
    fn mode(&mut self, mode: u32) -> &mut Self;
}

impl DirBuilderExt for DirBuilder {
    fn mode(&mut self, _: u32) -> &mut DirBuilder {
        self
    }
}

/// The mode of new files, which this system does not have.
pub trait OpenOptionsExt {
    /// Does nothing.
    fn mode(&mut self, mode: u32) -> &mut Self;
}

impl OpenOptionsExt for OpenOptions {
    fn mode(&mut self, _: u32) -> &mut OpenOptions {
        self
    }
}

/// Reads and writes at positions. They also move the position of the file.
pub trait FileExt {
    /// Reads from a position; how much, which is 0 at the end.
    ///
    /// # Errors
    /// The system refuses.
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize>;

    /// Reads from a position as much as was asked for.
    ///
    /// # Errors
    /// The file ends before, or the system refuses.
    fn read_exact_at(&self, mut into: &mut [u8], mut at: u64) -> io::Result<()> {
        while !into.is_empty() {
            match self.read_at(into, at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    into = into.get_mut(n..).unwrap_or_default();
                    at += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Writes all bytes at a position.
    ///
    /// # Errors
    /// The disk is full, or the system refuses.
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
}

impl FileExt for File {
    fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        match self.seek_read(into, at) {
            // What begins behind the end is an error here.
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            read => read,
        }
    }

    fn write_all_at(&self, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.seek_write(bytes, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    bytes = bytes.get(n..).unwrap_or_default();
                    at += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// What the system says about a file: a file that is written to, or another one in its place, has another identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The file system: always 0, the standard library does not tell.
    pub device: u64,
    /// The file: the time at which it was made.
    pub file: u64,
    /// When its content changed, seconds and nanoseconds.
    pub modified: (i64, i64),
    /// The same: the system does not tell when anything else of it changed.
    pub changed: (i64, i64),
}

impl Identity {
    /// The identity of a file.
    pub fn of(metadata: &Metadata) -> Identity {
        /// How many units of time make a second.
        const UNITS: u64 = 10_000_000;
        let written = metadata.last_write_time();
        let part = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let modified = (part(written / UNITS), part(written % UNITS * 100));
        Identity { device: 0, file: metadata.creation_time(), modified, changed: modified }
    }
}

/// Whether something belongs to the user: always; the access list of the profile decides.
pub fn is_own(_: &Metadata) -> bool {
    true
}

/// Does nothing: the access list of the directory decides.
///
/// # Errors
/// None.
pub fn make_private(_: &File) -> io::Result<()> {
    Ok(())
}

/// Does nothing: the file belongs to who wrote it.
pub fn keep_owner(_: &File, _: &Metadata) {}

/// Opens a file for reading.
///
/// # Errors
/// The system refuses.
pub fn open_itself(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Leaves the lock file at a path where it is: nothing tells it from another that would take its place.
pub fn remove_lock(_: &Path) {}

/// Whether a path names an open file: always, since lock files stay ([`remove_lock`]).
///
/// # Errors
/// None.
pub fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// Does nothing: directories cannot be opened, and their names are durable with the file.
///
/// # Errors
/// None.
pub fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Does nothing: this system offers no way to forget what it holds of a file in memory.
pub fn forget_cached(_: &File) {}

/// The space of a disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// What this user may still write.
    pub free: u64,
    /// The size of the disk.
    pub total: u64,
}

/// `None`: the standard library does not tell.
pub fn space(_: &Path) -> Option<Space> {
    None
}
