//! Makes the archive of a disk.
//!
//! The tasks of the allocation have ended, but they may have left links, pipes and processes behind: nothing is read
//! through a link, what is neither file, directory nor link is left out, and so is what is mounted.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType, Header};

use super::{error_member, roots};
use crate::artifacts::archive::MOST_LEVELS;
use crate::directory::{Directory, Links, PathError};

/// The bits of a mode.
const MODE: u32 = 0o7777;

/// Why not all of a disk was read. The text goes to the node that gets the disk.
#[derive(Debug, thiserror::Error)]
enum Unread {
    /// An entry cannot be read.
    #[error("{}: {source}", path.display())]
    Entry {
        /// The entry.
        path: PathBuf,
        /// The reason.
        source: PathError,
    },
    /// A file became shorter while it was read.
    #[error("{}: the file was changed while it was read", .0.display())]
    Changed(PathBuf),
    /// Directories are too deep.
    #[error("{}: more than {MOST_LEVELS} levels of directories", .0.display())]
    Levels(PathBuf),
    /// The allocation was collected meanwhile.
    #[error("the allocation was removed while it was read")]
    Removed,
}

/// Why the archive ends.
#[derive(Debug, thiserror::Error)]
enum PackError {
    /// The disk cannot be read.
    #[error(transparent)]
    Read(#[from] Unread),
    /// Nobody takes the archive.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// Writes the archive of the disk in a directory of an allocation. If not all of it can be read, the archive ends with
/// a member that says why ([`error_member`]). `removed`: whether the allocation is being removed.
///
/// # Errors
/// The archive cannot be written.
pub(crate) fn pack(
    alloc_dir: &Directory,
    alloc_id: &str,
    tasks: &BTreeSet<String>,
    removed: impl Fn() -> bool,
    to: impl Write,
) -> io::Result<()> {
    let mut packer = Packer { to: Builder::new(to), device: None };
    let packed = roots(tasks).try_for_each(|root| packer.root(alloc_dir, &root));
    let packed = packed.and_then(|()| if removed() { Err(Unread::Removed.into()) } else { Ok(()) });
    match packed {
        Ok(()) => {}
        Err(PackError::Read(unread)) => packer.error(alloc_id, &unread)?,
        Err(PackError::Write(error)) => return Err(error),
    }
    // After an error of the archive, dropping the builder writes to what has failed.
    packer.to.finish()
}

struct Packer<W: Write> {
    to: Builder<W>,
    /// The file system of the disk.
    device: Option<u64>,
}

impl<W: Write> Packer<W> {
    /// One of the directories of the disk; one that is not there is left out, and so is what a task put in its place.
    fn root(&mut self, alloc_dir: &Directory, at: &Path) -> Result<(), PackError> {
        match alloc_dir.open_dir(at, Links::Refused) {
            Ok(dir) => self.directory(&dir, at, at.components().count()),
            Err(PathError::Link | PathError::NotRegular) => Ok(()),
            Err(PathError::Io(e)) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(())
            }
            Err(source) => Err(Unread::Entry { path: at.into(), source }.into()),
        }
    }

    fn directory(&mut self, dir: &Directory, at: &Path, level: usize) -> Result<(), PackError> {
        let wrong = |source: PathError| Unread::Entry { path: at.into(), source };
        if level > MOST_LEVELS {
            return Err(Unread::Levels(at.into()).into());
        }
        let own = dir.entry("", Links::Refused).map_err(wrong)?.metadata;
        if *self.device.get_or_insert(own.dev()) != own.dev() {
            return Ok(());
        }
        self.to.append_data(&mut header(&own, EntryType::Directory, 0), at, io::empty())?;
        let mut names = dir.names().map_err(|e| wrong(e.into()))?;
        names.sort_unstable();
        names.iter().try_for_each(|name| self.entry(dir, name, &at.join(name), level + 1))
    }

    fn entry(&mut self, dir: &Directory, name: &OsStr, at: &Path, level: usize) -> Result<(), PackError> {
        let wrong = |source: PathError| Unread::Entry { path: at.into(), source };
        let found = dir.metadata(name).map_err(|e| wrong(e.into()))?;
        let kind = found.file_type();
        if kind.is_dir() {
            let below = dir.open_dir(name, Links::Refused).map_err(wrong)?;
            self.directory(&below, at, level)
        } else if level > MOST_LEVELS {
            Err(Unread::Levels(at.into()).into())
        } else if kind.is_symlink() {
            let target = dir.link_target(name).map_err(|e| wrong(e.into()))?;
            Ok(self.to.append_link(&mut header(&found, EntryType::Symlink, 0), at, target)?)
        } else if kind.is_file() {
            let (file, _) = dir.open_file(name, Links::Refused).map_err(wrong)?;
            self.file(file, at)
        } else {
            tracing::debug!(target: "client.alloc_migrator", path = %at.display(), "left out: neither file, directory nor link");
            Ok(())
        }
    }

    fn file(&mut self, file: File, at: &Path) -> Result<(), PackError> {
        let found = file.metadata().map_err(|e| Unread::Entry { path: at.into(), source: e.into() })?;
        if self.device.is_some_and(|device| device != found.dev()) {
            return Ok(());
        }
        let mut contents = Contents { file, left: found.size(), failed: None };
        self.to.append_data(&mut header(&found, EntryType::Regular, found.size()), at, &mut contents)?;
        match contents.failed {
            None => Ok(()),
            Some(Failed::Short) => Err(Unread::Changed(at.into()).into()),
            Some(Failed::Read(error)) => Err(Unread::Entry { path: at.into(), source: error.into() }.into()),
        }
    }

    /// Says at the end of the archive that it is not all of the disk.
    fn error(&mut self, alloc_id: &str, unread: &Unread) -> io::Result<()> {
        let text = unread.to_string();
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o600);
        header.set_size(text.len() as u64);
        self.to.append_data(&mut header, error_member(alloc_id), text.as_bytes())
    }
}

fn header(of: &Metadata, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(of.mode() & MODE);
    header.set_uid(of.uid().into());
    header.set_gid(of.gid().into());
    header.set_mtime(u64::try_from(of.mtime()).unwrap_or(0));
    header.set_size(size);
    header
}

/// Why a file could not be read.
enum Failed {
    Short,
    Read(io::Error),
}

/// As many bytes of a file as its header says, whatever becomes of the file; the archive would be damaged otherwise.
struct Contents {
    file: File,
    left: u64,
    failed: Option<Failed>,
}

impl Read for Contents {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let buffer = buffer.get_mut(..most).unwrap_or_default();
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = if self.failed.is_some() { Ok(0) } else { self.file.read(buffer) };
        let count = match read {
            Ok(0) => {
                self.failed.get_or_insert(Failed::Short);
                buffer.fill(0);
                most
            }
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Err(e),
            Err(error) => {
                self.failed = Some(Failed::Read(error));
                buffer.fill(0);
                most
            }
        };
        self.left -= count as u64;
        Ok(count)
    }
}
