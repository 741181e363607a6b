//! Makes entries of a tree: directories, files, links; moves them. Nothing of it follows a link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Uid, chownat, fchmod, fchown, linkat, mkdirat, openat, readlinkat,
    renameat, renameat_with, symlinkat,
};
use rustix::io::Errno;

use super::{ALWAYS, Directory, Links, PathError, plain_names, single};

/// The mode of directories that are made on the way to an entry.
const ON_THE_WAY: u32 = 0o755;

impl Directory {
    /// Opens a directory below; those that are missing are made, with mode 0755.
    pub(crate) fn make_dirs(&self, path: impl AsRef<Path>) -> Result<Directory, PathError> {
        let mut dir = self.clone();
        for name in plain_names(path.as_ref())? {
            match mkdirat(&dir.fd, name, Mode::from_raw_mode(ON_THE_WAY)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
            dir = dir.open_dir(name, Links::Refused)?;
        }
        Ok(dir)
    }

    /// Makes an empty file of this directory, in place of a file or link that has the name.
    pub(crate) fn create_file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let name = single(name.as_ref())?;
        self.remove_file(name)?;
        let create = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | ALWAYS;
        Ok(File::from(openat(&self.fd, name, create, Mode::from_raw_mode(0o600))?))
    }

    /// Makes a symbolic link of this directory, in place of a file or link that has the name.
    pub(crate) fn make_link(&self, name: impl AsRef<OsStr>, target: &Path) -> io::Result<()> {
        let name = single(name.as_ref())?;
        self.remove_file(name)?;
        Ok(symlinkat(target, &self.fd, name)?)
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
