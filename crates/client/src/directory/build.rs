//! Makes entries of a tree: directories, files, links, also like those of the host; moves them. Nothing of it follows a
//! link.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Uid, chownat, fchmod, fchown, linkat, mkdirat, openat, readlinkat,
    renameat, renameat_with, symlinkat,
};
use rustix::io::Errno;

use super::{ALWAYS, Directory, Links, PathError, plain_names, single};

/// The mode of directories that are made on the way to an entry.
const ON_THE_WAY: u32 = 0o755;

impl Directory {
    /// Opens a directory below; those that are missing are made, with mode 0755.
    pub(crate) fn make_dirs(&self, path: impl AsRef<Path>) -> Result<Directory, PathError> {
        self.make_way(plain_names(path.as_ref())?, ON_THE_WAY)
    }

    /// Opens the directory that names lead to, one after the other; those that are missing are made with that mode.
    pub(super) fn make_way<'n>(
        &self,
        names: impl IntoIterator<Item = &'n OsStr>,
        mode: u32,
    ) -> Result<Directory, PathError> {
        names.into_iter().try_fold(self.clone(), |dir, name| match mkdirat(&dir.fd, name, Mode::from_raw_mode(mode)) {
            Ok(()) | Err(Errno::EXIST) => dir.open_dir(name, Links::Refused),
            Err(e) => Err(e.into()),
        })
    }

    /// Makes a directory of this one with that mode; one that is there stays as it is.
    pub(crate) fn make_new_dir(&self, name: impl AsRef<OsStr>, mode: u32) -> Result<Directory, PathError> {
        self.make_missing(name.as_ref(), mode, None)
    }

    /// Makes a directory of this one with the owner and mode of another one; one that is there stays as it is.
    pub(crate) fn make_like(&self, name: impl AsRef<OsStr>, other: &Metadata) -> Result<Directory, PathError> {
        self.make_missing(name.as_ref(), other.mode() & 0o7777, Some((other.uid(), other.gid())))
    }

    fn make_missing(&self, name: &OsStr, mode: u32, owner: Option<(u32, u32)>) -> Result<Directory, PathError> {
        let name = single(name)?;
        match mkdirat(&self.fd, name, Mode::from_raw_mode(0o700)) {
            Ok(()) => {
                let dir = self.open_dir(name, Links::Refused)?;
                owner.map_or(Ok(()), |owner| give_if_permitted(&dir.fd, owner))?;
                fchmod(&dir.fd, Mode::from_raw_mode(mode))?;
                Ok(dir)
            }
            Err(Errno::EXIST) => self.open_dir(name, Links::Refused).map_err(|e| match e {
                PathError::Io(e) if e.raw_os_error() == Some(Errno::NOTDIR.raw_os_error()) => PathError::NotRegular,
                e => e,
            }),
            Err(e) => Err(e.into()),
        }
    }

    /// Makes an empty file of this directory, in place of a file or link that has the name.
    pub(crate) fn create_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.remove_file(&name)?;
        self.new_file(name.as_ref())
    }

    /// Makes a file in this directory that is not there yet, for its owner alone.
    pub(crate) fn create_new(&self, name: &OsStr, owner: (u32, u32)) -> io::Result<File> {
        let file = self.new_file(name)?;
        give_if_permitted(&file, owner)?;
        Ok(file)
    }

    fn new_file(&self, name: &OsStr) -> io::Result<File> {
        let create = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | ALWAYS;
        Ok(File::from(openat(&self.fd, single(name)?, create, Mode::from_raw_mode(0o600))?))
    }

    /// Makes a symbolic link of this directory, in place of a file or link that has the name.
    pub(crate) fn make_link(&self, name: impl AsRef<OsStr>, target: &Path) -> io::Result<()> {
        self.remove_file(&name)?;
        self.link_symbolically(name.as_ref(), target)
    }

    /// Makes a symbolic link in this directory that is not there yet.
    pub(crate) fn link_symbolically(&self, name: &OsStr, target: &Path) -> io::Result<()> {
        Ok(symlinkat(target, &self.fd, single(name)?)?)
    }

    /// Gives a file a second name in this directory. Its own path is followed to its last name, no link from there.
    pub(crate) fn link_file(&self, file: &Path, name: &OsStr) -> io::Result<()> {
        Ok(linkat(CWD, file, &self.fd, single(name)?, AtFlags::empty())?)
    }

    /// Gives a file of this directory a second name in another one, in place of a file or link that has it.
    pub(crate) fn make_hard_link(
        &self,
        name: impl AsRef<OsStr>,
        to: &Directory,
        to_name: impl AsRef<OsStr>,
    ) -> io::Result<()> {
        let (name, to_name) = (single(name.as_ref())?, single(to_name.as_ref())?);
        if !self.metadata(name)?.is_file() {
            return Err(PathError::NotRegular.into());
        }
        to.remove_file(to_name)?;
        Ok(linkat(&self.fd, name, &to.fd, to_name, AtFlags::empty())?)
    }

    /// The target of a symbolic link of this directory.
    pub(crate) fn link_target(&self, name: impl AsRef<OsStr>) -> io::Result<PathBuf> {
        let target = readlinkat(&self.fd, single(name.as_ref())?, Vec::new())?;
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    /// Moves an entry to another directory, in place of a file or link that has the name.
    pub(crate) fn move_entry(&self, name: &OsStr, to: &Directory, to_name: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.fd, single(name)?, &to.fd, single(to_name)?)?)
    }

    /// Moves an entry to another directory that does not have the name. False if it has.
    pub(crate) fn move_new(&self, name: &OsStr, to: &Directory, to_name: &OsStr) -> io::Result<bool> {
        match renameat_with(&self.fd, single(name)?, &to.fd, single(to_name)?, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST | Errno::NOTEMPTY) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Gives an entry of this directory to a user and group; of a link, the link itself.
    pub(crate) fn give(&self, name: &OsStr, (uid, gid): (u32, u32)) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        Ok(chownat(&self.fd, single(name)?, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Gives the directory itself to a user and group.
    pub(crate) fn give_itself(&self, (uid, gid): (u32, u32)) -> io::Result<()> {
        Ok(fchown(&self.fd, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?)
    }

    /// Sets the mode of the directory itself.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        Ok(fchmod(&self.fd, Mode::from_raw_mode(mode))?)
    }
}

/// Gives a file to a user and group. Without root all files are the agent's.
fn give_if_permitted(file: impl AsFd, (uid, gid): (u32, u32)) -> io::Result<()> {
    match fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))) {
        Ok(()) | Err(Errno::PERM) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::tests::trees;
    use super::*;

    #[test]
    fn entries_are_made_and_moved_without_following_links() {
        for (dir, tree) in trees() {
            let root = dir.path().join("in");
            let deep = tree.make_dirs("x/./y").unwrap();
            deep.create_file("f").unwrap().write_all(b"1").unwrap();
            for bad in ["up/x", "../x", "/x", "down/x"] {
                assert!(tree.make_dirs(bad).is_err(), "{bad}");
            }
            tree.create_file("up").unwrap().write_all(b"2").unwrap();
            assert_eq!(std::fs::read(root.join("up")).unwrap(), b"2");
            tree.make_link("up", Path::new("a")).unwrap();
            assert_eq!(tree.link_target("up").unwrap(), Path::new("a"));
            assert!(tree.make_hard_link("etc", &deep, "g").is_err() && tree.make_hard_link("a", &deep, "g").is_err());
            deep.make_hard_link("f", &tree, "etc").unwrap();
            assert_eq!(std::fs::read(root.join("etc")).unwrap(), b"1");
            let (name, other) = (OsStr::new("f"), tree.open_dir("a/b", Links::Refused).unwrap());
            assert!(!deep.move_new(name, &other, name).unwrap());
            deep.move_entry(name, &other, name).unwrap();
            assert!(tree.move_new(OsStr::new("x"), &other, OsStr::new("new")).unwrap());
            assert!(root.join("a/b/new/y").is_dir());
            assert_eq!(std::fs::read_dir(dir.path().join("out")).unwrap().count(), 1);
        }
    }
}
