//! Removes trees that tasks wrote, as far as they can be removed.
//!
//! Nothing below a mount point is removed: what is mounted into the directory of an allocation, such as a volume, does
//! not belong to the allocation. `rmdir` refuses mount points of any kind, and `openat2` with `RESOLVE_NO_XDEV` those
//! that are made between the two calls. An entry that cannot be removed does not save the others.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, fstat, openat, openat2, renameat, statx,
    unlinkat,
};
use rustix::io::Errno;

use super::{DIRECTORY, Directory, RETRIES, Resolver, single};

/// How deep a tree is removed with open directories on each level; what lies deeper is moved up first.
const MOST_LEVELS: usize = 32;
/// Most entries that are removed in one try: a process that adds entries all the time does not hold it forever.
const MOST_ENTRIES: u64 = 20_000_000;
/// How often a tree is tried again at once when entries are added to it meanwhile.
const TRIES: usize = 3;

/// An entry of a tree that could not be removed; the others are gone, as far as possible.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct NotRemoved {
    /// The first entry that is still there.
    pub path: PathBuf,
    /// Why.
    pub reason: Obstacle,
}

/// Why an entry cannot be removed.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    /// It is a mount point.
    #[error("a file system is mounted there")]
    Mounted,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for Obstacle {
    fn from(e: Errno) -> Obstacle {
        Obstacle::Io(e.into())
    }
}

impl NotRemoved {
    /// The error of the system about a path.
    pub(crate) fn io(path: impl Into<PathBuf>, error: impl Into<io::Error>) -> NotRemoved {
        NotRemoved { path: path.into(), reason: Obstacle::Io(error.into()) }
    }

    /// The same, when the path is below a directory.
    pub(crate) fn below(self, dir: &Path) -> NotRemoved {
        NotRemoved { path: dir.join(self.path), ..self }
    }

    /// Entries were added while the tree was removed.
    fn grew(&self) -> bool {
        matches!(&self.reason, Obstacle::Io(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty)
    }
}

impl From<NotRemoved> for io::Error {
    fn from(e: NotRemoved) -> io::Error {
        let kind = match &e.reason {
            Obstacle::Mounted => io::ErrorKind::ResourceBusy,
            Obstacle::Io(error) => error.kind(),
        };
        io::Error::new(kind, e)
    }
}

/// A directory that is being emptied.
struct Level {
    name: OsString,
    dir: Directory,
    /// Its entries that are left.
    left: Dir,
    /// Something in it cannot be removed.
    stays: bool,
}

/// The removal of one tree.
struct Removal<'a> {
    /// The directory that holds the tree.
    from: &'a Directory,
    /// From the top of the tree to the directory that is emptied now.
    levels: Vec<Level>,
    /// Entries that were moved to the top, and how many of them have been removed.
    moved: u64,
    removed: u64,
    entries: u64,
    first: Option<NotRemoved>,
    /// No entry can be removed.
    hopeless: bool,
}

impl Directory {
    /// Removes a name with everything below it, however deep; links are removed, not followed, and what is mounted
    /// below stays. One that is not there is fine.
    ///
    /// # Errors
    /// The first entry that could not be removed; all that could be is gone.
    pub(crate) fn remove_tree(&self, name: &str) -> Result<(), NotRemoved> {
        let name = single(name.as_ref()).map_err(|e| NotRemoved::io(name, e))?;
        let mut result = Ok(());
        // Tasks that still run may write while their directories are removed.
        for _ in 0..TRIES {
            result = Removal::new(self).run(name);
            if !matches!(&result, Err(e) if e.grew()) {
                break;
            }
        }
        result
    }

    /// Removes a name; opens it if it is a directory that is not empty.
    fn remove_or_open(&self, name: &OsStr) -> Result<Option<Directory>, Obstacle> {
        let refused = match unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => return Ok(None),
            // The error of removing a directory this way depends on the file system.
            Err(e @ (Errno::ISDIR | Errno::PERM)) => e,
            Err(Errno::BUSY) => return Err(self.busy(name)),
            Err(e) => return Err(e.into()),
        };
        match unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(None),
            Err(Errno::BUSY) => Err(self.busy(name)),
            Err(Errno::ROFS) => Err(Errno::ROFS.into()),
            // Whatever the reason, what is below may be removed.
            Err(_) => match self.open_unmounted(name) {
                Err(Obstacle::Io(e)) if e.kind() == io::ErrorKind::NotADirectory => Err(refused.into()),
                opened => opened,
            },
        }
    }

    /// Opens a directory of this one, unless a file system is mounted there.
    fn open_unmounted(&self, name: &OsStr) -> Result<Option<Directory>, Obstacle> {
        let flags = DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW;
        let opened = match self.resolver {
            Resolver::Kernel => {
                let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
                let mut opened = Err(Errno::AGAIN);
                for _ in 0..RETRIES {
                    opened = openat2(&self.fd, name, flags, Mode::empty(), resolve);
                    if !matches!(opened, Err(Errno::AGAIN | Errno::INTR)) {
                        break;
                    }
                }
                opened
            }
            Resolver::Stepwise => openat(&self.fd, name, flags, Mode::empty()),
        };
        let fd = match opened {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::XDEV) => return Err(Obstacle::Mounted),
            Err(e) => return Err(e.into()),
        };
        if fstat(&fd)?.st_dev != fstat(&self.fd)?.st_dev {
            return Err(Obstacle::Mounted);
        }
        Ok(Some(Directory { fd: Arc::new(fd), path: self.path.join(name), resolver: self.resolver }))
    }

    /// Why a name is in use.
    fn busy(&self, name: &OsStr) -> Obstacle {
        match statx(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS) {
            Ok(found) if found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) => Obstacle::Mounted,
            Ok(_) | Err(_) => Errno::BUSY.into(),
        }
    }
}

impl<'a> Removal<'a> {
    fn new(from: &'a Directory) -> Removal<'a> {
        Removal { from, levels: Vec::new(), moved: 0, removed: 0, entries: 0, first: None, hopeless: false }
    }

    fn run(mut self, name: &OsStr) -> Result<(), NotRemoved> {
        self.remove(name.to_os_string());
        while let Some(level) = self.levels.last_mut() {
            if self.hopeless {
                break;
            }
            match level.left.next() {
                Some(Ok(entry)) => {
                    let next = OsStr::from_bytes(entry.file_name().to_bytes());
                    if next != "." && next != ".." {
                        self.remove(next.to_os_string());
                    }
                }
                Some(Err(error)) => {
                    self.keep(OsStr::new(""), error.into());
                    self.leave();
                }
                None if self.levels.len() == 1 && self.removed < self.moved => {
                    let next = moved_name(self.removed);
                    self.removed += 1;
                    self.remove(next);
                }
                None => self.leave(),
            }
        }
        self.first.map_or(Ok(()), Err)
    }

    /// The directory that is emptied now.
    fn innermost(&self) -> &Directory {
        self.levels.last().map_or(self.from, |level| &level.dir)
    }

    /// Removes an entry of the innermost directory. One that is a directory with entries becomes the innermost.
    fn remove(&mut self, name: OsString) {
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            self.hopeless = true;
            return self.keep(&name, Errno::NOTEMPTY.into());
        }
        let below = match self.innermost().remove_or_open(&name) {
            Ok(None) => return,
            Ok(Some(below)) => below,
            Err(reason) => return self.keep(&name, reason),
        };
        if self.levels.len() >= MOST_LEVELS {
            return self.move_up(&name);
        }
        match Dir::read_from(&below.fd) {
            Ok(left) => self.levels.push(Level { name, dir: below, left, stays: false }),
            Err(error) => self.keep(&name, error.into()),
        }
    }

    /// Moves a directory of the innermost one to the top of the tree, where it is removed in the end.
    fn move_up(&mut self, name: &OsStr) {
        let Some(top) = self.levels.first().map(|level| level.dir.clone()) else { return };
        let mut moved = Err(Errno::EXIST);
        // An earlier removal may have left some.
        for _ in 0..1000 {
            moved = renameat(&self.innermost().fd, name, &top.fd, moved_name(self.moved));
            match moved {
                Err(Errno::EXIST | Errno::NOTEMPTY) => self.moved += 1,
                _ => break,
            }
        }
        match moved {
            Ok(()) => self.moved += 1,
            Err(error) => self.keep(name, error.into()),
        }
    }

    /// The innermost directory has no entries left that could be removed.
    fn leave(&mut self) {
        let Some(Level { name, stays, .. }) = self.levels.pop() else { return };
        if stays {
            if let Some(parent) = self.levels.last_mut() {
                parent.stays = true;
            }
            return;
        }
        match unlinkat(&self.innermost().fd, &name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => self.keep(&name, error.into()),
        }
    }

    /// Notes that an entry of the innermost directory stays.
    fn keep(&mut self, name: &OsStr, reason: Obstacle) {
        if let Some(level) = self.levels.last_mut() {
            level.stays = true;
        }
        // On a file system that is read-only every entry stays.
        self.hopeless |= matches!(&reason, Obstacle::Io(e) if e.kind() == io::ErrorKind::ReadOnlyFilesystem);
        if self.first.is_none() {
            let names = self.levels.iter().map(|level| level.name.as_os_str()).chain([name]);
            self.first = Some(NotRemoved { path: names.filter(|name| !name.is_empty()).collect(), reason });
        }
    }
}

/// The name of a directory that was moved to the top of the tree.
fn moved_name(number: u64) -> OsString {
    format!(".removing-{number}").into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::super::Links;
    use super::super::tests::trees;
    use super::*;

    #[test]
    fn trees_of_any_depth_are_removed_and_links_only_unlinked() {
        for (dir, tree) in trees() {
            let mut deep = tree.open_dir("a", Links::Refused).unwrap();
            for _ in 0..3000 {
                deep = deep.make_dir("d", 0o755, None).unwrap();
                deep.replace("f", b"", 0o600, None).unwrap();
            }
            drop(deep);
            symlink("../../out", dir.path().join("in/a/out")).unwrap();
            tree.remove_tree("a").unwrap();
            tree.remove_tree("a").unwrap();
            tree.remove_tree("up").unwrap();
            assert!(!dir.path().join("in/a").exists() && dir.path().join("out/secret").exists());
            assert!(tree.remove_tree("..").is_err() && tree.remove_tree("x/y").is_err());
        }
    }

    /// Runs a program; false, with a line about it, if it fails.
    fn done(program: &str, args: &[&OsStr]) -> bool {
        let out = Command::new(program).args(args).output();
        let done = out.as_ref().is_ok_and(|o| o.status.success());
        if !done {
            println!("skipped: {program} {args:?}: {out:?}");
        }
        done
    }

    #[test]
    fn what_is_mounted_stays_and_the_rest_goes() {
        for (dir, tree) in trees() {
            let place = |name: &str| dir.path().join("in/a").join(name);
            let (volume, file) = (dir.path().join("volume"), dir.path().join("file"));
            std::fs::create_dir(&volume).unwrap();
            std::fs::write(volume.join("data"), "1").unwrap();
            std::fs::write(&file, "2").unwrap();
            // Mounts of the same file system, which have the same device.
            for name in ["b/mount/x", "other", "deep/1/2/3"] {
                std::fs::create_dir_all(place(name)).unwrap();
                std::fs::write(place(name).join("gone"), "").unwrap();
            }
            std::fs::write(place("b/file"), "").unwrap();
            let bind = |from: &Path, to: &Path| done("mount", &["--bind".as_ref(), from.as_ref(), to.as_ref()]);
            if !bind(&volume, &place("b/mount")) {
                return;
            }
            assert!(bind(&file, &place("b/file")));
            for _ in 0..2 {
                let error = tree.remove_tree("a").unwrap_err();
                let kept = [Path::new("a/b/mount"), Path::new("a/b/file")];
                assert!(kept.contains(&error.path.as_path()) && matches!(error.reason, Obstacle::Mounted), "{error}");
            }
            assert!(volume.join("data").exists() && std::fs::read(&file).unwrap() == b"2");
            assert!(!place("other").exists() && !place("deep").exists() && !place("b/f").exists());
            for mounted in ["b/mount", "b/file"] {
                assert!(done("umount", &[place(mounted).as_ref()]));
            }
            tree.remove_tree("a").unwrap();
            assert!(!dir.path().join("in/a").exists() && volume.join("data").exists());
        }
    }

    #[test]
    fn what_cannot_be_removed_is_named() {
        for (dir, tree) in trees() {
            let fixed = dir.path().join("in/a/b/fixed");
            std::fs::write(&fixed, "").unwrap();
            if !done("chattr", &["+i".as_ref(), fixed.as_ref()]) {
                return;
            }
            let error = tree.remove_tree("a");
            assert!(done("chattr", &["-i".as_ref(), fixed.as_ref()]));
            let error = error.unwrap_err();
            assert_eq!(error.to_string(), "a/b/fixed: Operation not permitted (os error 1)");
            assert_eq!(io::Error::from(error).kind(), io::ErrorKind::PermissionDenied);
            assert!(!dir.path().join("in/a/b/f").exists());
            tree.remove_tree("a").unwrap();
        }
    }

    #[test]
    fn directories_that_were_moved_up_before_are_in_nobodys_way() {
        for (dir, tree) in trees() {
            let mut deep = tree.open_dir("a", Links::Refused).unwrap();
            deep.make_dir(".removing-0", 0o755, None).unwrap().replace("x", b"", 0o600, None).unwrap();
            for _ in 0..100 {
                deep = deep.make_dir("d", 0o755, None).unwrap();
                deep.make_dir("e", 0o755, None).unwrap().replace("f", b"", 0o600, None).unwrap();
            }
            tree.remove_tree("a").unwrap();
            assert!(!dir.path().join("in/a").exists());
        }
    }
}
