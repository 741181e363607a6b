//! Makes entries of a directory that are not there yet, like those of the host.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid, fchmod, fchown, linkat, mkdirat, openat, symlinkat};
use rustix::io::Errno;

use super::{ALWAYS, Directory, Links, PathError, single};

impl Directory {
    /// Makes a directory of this one with that mode; one that is there stays as it is.
    pub(crate) fn make_new_dir(&self, name: impl AsRef<OsStr>, mode: u32) -> Result<Directory, PathError> {
        let name = single(name.as_ref())?;
        match mkdirat(&self.fd, name, Mode::from_raw_mode(0o700)) {
            Ok(()) => {
                let dir = self.open_dir(name, Links::Refused)?;
                fchmod(&dir.fd, Mode::from_raw_mode(mode))?;
                Ok(dir)
            }
            Err(Errno::EXIST) => self.existing(name),
            Err(e) => Err(e.into()),
        }
    }

    /// Makes a directory of this one with the owner and mode of another one; one that is there stays as it is.
    pub(crate) fn make_like(&self, name: impl AsRef<OsStr>, other: &Metadata) -> Result<Directory, PathError> {
        let name = single(name.as_ref())?;
        match mkdirat(&self.fd, name, Mode::from_raw_mode(0o700)) {
            Ok(()) => {
                let dir = self.open_dir(name, Links::Refused)?;
                let owner = (Uid::from_raw(other.uid()), Gid::from_raw(other.gid()));
                // Without root all files are the agent's.
                match fchown(&dir.fd, Some(owner.0), Some(owner.1)) {
                    Ok(()) | Err(Errno::PERM) => {}
                    Err(e) => return Err(e.into()),
                }
                fchmod(&dir.fd, Mode::from_raw_mode(other.mode() & 0o7777))?;
                Ok(dir)
            }
            Err(Errno::EXIST) => self.existing(name),
            Err(e) => Err(e.into()),
        }
    }

    fn existing(&self, name: &OsStr) -> Result<Directory, PathError> {
        self.open_dir(name, Links::Refused).map_err(|e| match e {
            PathError::Io(e) if e.raw_os_error() == Some(Errno::NOTDIR.raw_os_error()) => PathError::NotRegular,
            e => e,
        })
    }

    /// Gives a file a second name in this directory. Its own path is followed to its last name, no link from there.
    pub(crate) fn link_file(&self, file: &Path, name: &OsStr) -> io::Result<()> {
        Ok(linkat(CWD, file, &self.fd, single(name)?, AtFlags::empty())?)
    }

    /// Makes a symbolic link in this directory.
    pub(crate) fn link_symbolically(&self, name: &OsStr, target: &Path) -> io::Result<()> {
        Ok(symlinkat(target, &self.fd, single(name)?)?)
    }

    /// Makes a file in this directory that is not there yet, for its owner alone.
    pub(crate) fn create_new(&self, name: &OsStr, owner: (u32, u32)) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | ALWAYS;
        let file = File::from(openat(&self.fd, single(name)?, flags, Mode::from_raw_mode(0o600))?);
        match fchown(&file, Some(Uid::from_raw(owner.0)), Some(Gid::from_raw(owner.1))) {
            Ok(()) | Err(Errno::PERM) => Ok(file),
            Err(e) => Err(e.into()),
        }
    }
}
