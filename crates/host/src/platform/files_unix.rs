//! Files of Unix systems.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::path::Path;

use rustix::fs::OFlags;

pub use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};

use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

/// What the system says about a file: a file that is written to, or another one in its place, has another identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The file system.
    pub device: u64,
    /// The file in its file system.
    pub file: u64,
    /// When its content changed, seconds and nanoseconds.
    pub modified: (i64, i64),
    /// When anything of it changed, seconds and nanoseconds.
    pub changed: (i64, i64),
}

impl Identity {
    /// The identity of a file.
    pub fn of(metadata: &Metadata) -> Identity {
        Identity {
            device: metadata.dev(),
            file: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Whether something belongs to the user, and nobody else can change it.
pub fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

/// Lets nobody but its owner read a file.
///
/// # Errors
/// The permissions cannot be set.
pub fn make_private(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(0o600))
}

/// Gives a file the owner of one that was there before, as far as this process may give files away.
pub fn keep_owner(file: &File, before: &Metadata) {
    // Only the superuser gives files away; for all others the file becomes their own.
    let _ = fchown(file, Some(before.uid()), Some(before.gid()));
}

/// Opens a file for reading. Does not follow a link, and does not wait for the other end of a pipe.
///
/// # Errors
/// It is a link, or the system refuses.
pub fn open_itself(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Removes the lock file at a path, which this process has locked, unless the system leaves no way to tell that file from
/// another that takes its place.
pub fn remove_lock(path: &Path) {
    // A file that stays is no harm.
    let _ = fs::remove_file(path);
}

/// Whether a path names an open file.
///
/// # Errors
/// The open file is not accessible.
pub fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    Ok(fs::metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())))
}

/// Makes names in a directory durable.
///
/// # Errors
/// The directory cannot be opened, or the disk fails.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory).and_then(|opened| opened.sync_all())
}

/// Has the system forget what it holds of a file in memory, where it can.
pub fn forget_cached(file: &File) {
    // Without it, what is in memory is read.
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}

/// The space of a disk, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// What this user may still write.
    pub free: u64,
    /// The size of the disk.
    pub total: u64,
}

/// The space of the disk that holds a directory; `None` if the system does not tell.
pub fn space(directory: &Path) -> Option<Space> {
    let disk = rustix::fs::statvfs(directory).ok()?;
    let (free, total) = (disk.f_bavail.saturating_mul(disk.f_frsize), disk.f_blocks.saturating_mul(disk.f_frsize));
    Some(Space { free, total })
}
