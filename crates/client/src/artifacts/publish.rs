//! Checks a downloaded tree and moves it to its destination (`docs/spec/client.md §18`).
//!
//! The tree is in a directory of the agent; the destination may be written by tasks at the same time, so nothing there
//! is reached through a link.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

use super::archive::MOST_LEVELS;
use crate::directory::{Directory, Links, PathError};

/// The mode of downloaded files.
const MODE: u32 = 0o644;

/// Why a downloaded tree is not usable, or not moved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PublishError {
    /// A link leads out of the artifact.
    #[error("the artifact has a symbolic link {0:?} that leads out of it")]
    Link(PathBuf),
    /// The directories are too deep.
    #[error("the artifact has more than {MOST_LEVELS} levels of directories")]
    Levels,
    /// An entry is neither file, directory nor link.
    #[error("the artifact has an entry {0:?} that is neither file, directory nor link")]
    Type(PathBuf),
    /// It is to be one file.
    #[error("mode \"file\" needs an archive with exactly one file")]
    NotOneFile,
    /// What is wanted of it is not there.
    #[error("the artifact has no directory {0:?}")]
    NoSubdirectory(String),
    /// An entry was not moved.
    #[error("failed to write {name:?} to the destination: {source}")]
    Move {
        /// The entry, or the destination.
        name: PathBuf,
        /// The reason.
        source: PathError,
    },
}

impl PublishError {
    fn at(name: impl Into<PathBuf>, source: impl Into<PathError>) -> PublishError {
        PublishError::Move { name: name.into(), source: source.into() }
    }
}

/// Lets all users read a downloaded file.
pub(crate) fn make_readable(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(MODE))
}

/// The directory of the tree that is wanted.
pub(crate) fn subdirectory(tree: &Directory, path: &str) -> Result<Directory, PublishError> {
    tree.open_dir(path, Links::Refused).map_err(|_| PublishError::NoSubdirectory(path.into()))
}

/// Checks all entries of a tree, and gives them to the user of the task. `inspect`: links must not lead out.
pub(crate) fn check(tree: &Directory, inspect: bool, owner: Option<(u32, u32)>) -> Result<(), PublishError> {
    check_below(tree, Path::new(""), 0, inspect, owner)
}

fn check_below(
    dir: &Directory,
    at: &Path,
    level: usize,
    inspect: bool,
    owner: Option<(u32, u32)>,
) -> Result<(), PublishError> {
    if level > MOST_LEVELS {
        return Err(PublishError::Levels);
    }
    for name in dir.names().map_err(|e| PublishError::at(at, e))? {
        let path = at.join(&name);
        let wrong = |e: io::Error| PublishError::at(&path, e);
        let kind = dir.metadata(&name).map_err(wrong)?.file_type();
        if kind.is_dir() {
            let below = dir.open_dir(&name, Links::Refused).map_err(|e| PublishError::at(&path, e))?;
            check_below(&below, &path, level + 1, inspect, owner)?;
        } else if kind.is_symlink() {
            if inspect && leads_out(&dir.link_target(&name).map_err(wrong)?, level) {
                return Err(PublishError::Link(path));
            }
        } else if !kind.is_file() {
            return Err(PublishError::Type(path));
        }
        if let Some(owner) = owner {
            dir.give(&name, owner).map_err(|e| PublishError::at(&path, e))?;
        }
    }
    Ok(())
}

/// Whether a link of a directory of that level may lead out of the tree. `..` may only be at the beginning: behind a
/// name that is a link itself, it would mean something else.
pub(crate) fn leads_out(target: &Path, level: usize) -> bool {
    let (mut up, mut down) = (0, false);
    for part in target.components() {
        match part {
            Component::ParentDir if down => return true,
            Component::ParentDir => up += 1,
            Component::Normal(_) => down = true,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    up > level
}

/// The only file of a tree: its directory and its name.
pub(crate) fn only_file(tree: &Directory) -> Result<(Directory, OsString), PublishError> {
    let mut found = None;
    let mut dirs = vec![(tree.clone(), 0)];
    while let Some((dir, level)) = dirs.pop() {
        for name in dir.names().map_err(|e| PublishError::at("", e))? {
            let kind = dir.metadata(&name).map_err(|e| PublishError::at(&name, e))?.file_type();
            if kind.is_dir() && level < MOST_LEVELS {
                let below = dir.open_dir(&name, Links::Refused).map_err(|e| PublishError::at(&name, e))?;
                dirs.push((below, level + 1));
            } else if !kind.is_file() || found.replace((dir.clone(), name)).is_some() {
                return Err(PublishError::NotOneFile);
            }
        }
    }
    found.ok_or(PublishError::NotOneFile)
}

/// Moves a file to a path of the allocation; what is there is replaced.
pub(crate) fn file(from: &Directory, name: &OsStr, alloc: &Directory, to: &Path) -> Result<(), PublishError> {
    let wrong = |e: PathError| PublishError::at(to, e);
    let (Some(parent), Some(to_name)) = (to.parent(), to.file_name()) else { return Err(wrong(PathError::Escapes)) };
    let dir = alloc.make_dirs(parent).map_err(wrong)?;
    move_file(from, name, &dir, to_name).map_err(|e| wrong(e.into()))
}

/// Moves all entries of a tree into a directory of the allocation, which is made if it is missing. Files that are there
/// are replaced, directories are merged.
pub(crate) fn tree(
    from: &Directory,
    alloc: &Directory,
    to: &Path,
    owner: Option<(u32, u32)>,
) -> Result<(), PublishError> {
    let dir = alloc.make_dirs(to).map_err(|e| PublishError::at(to, e))?;
    if let Some(owner) = owner {
        dir.give_itself(owner).map_err(|e| PublishError::at(to, e))?;
    }
    merge(from, &dir, to)
}

fn merge(from: &Directory, to: &Directory, at: &Path) -> Result<(), PublishError> {
    for name in from.names().map_err(|e| PublishError::at(at, e))? {
        let path = at.join(&name);
        let wrong = |e: io::Error| PublishError::at(&path, e);
        let found = from.metadata(&name).map_err(wrong)?;
        if !found.is_dir() {
            move_file(from, &name, to, &name).map_err(wrong)?;
            continue;
        }
        match from.move_new(&name, to, &name) {
            Ok(true) => continue,
            Ok(false) => {}
            // Another file system, or one that can't tell.
            Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::XDEV | Errno::INVAL)) => {}
            Err(e) => return Err(wrong(e)),
        }
        let below = from.open_dir(&name, Links::Refused).map_err(|e| PublishError::at(&path, e))?;
        let there = to.make_dirs(Path::new(&name)).map_err(|e| PublishError::at(&path, e))?;
        keep_owner(&there, found.uid(), found.gid()).map_err(wrong)?;
        merge(&below, &there, &path)?;
    }
    Ok(())
}

/// Gives a directory of the destination to the owner of the one that is moved.
fn keep_owner(dir: &Directory, uid: u32, gid: u32) -> io::Result<()> {
    if uid == rustix::process::geteuid().as_raw() { Ok(()) } else { dir.give_itself((uid, gid)) }
}

/// Moves a file or a link; over the border of a file system it is copied.
fn move_file(from: &Directory, name: &OsStr, to: &Directory, to_name: &OsStr) -> io::Result<()> {
    match from.move_entry(name, to, to_name) {
        Err(e) if Errno::from_io_error(&e) == Some(Errno::XDEV) => {}
        moved => return moved,
    }
    let found = from.metadata(name)?;
    if found.is_symlink() {
        to.make_link(to_name, &from.link_target(name)?)?;
    } else {
        let (mut source, _) = from.open_file(Path::new(name), Links::Refused)?;
        let mut target = to.create_file(to_name)?;
        io::copy(&mut source, &mut target)?;
        target.set_permissions(Permissions::from_mode(found.mode() & 0o777))?;
    }
    if found.uid() == rustix::process::geteuid().as_raw() {
        Ok(())
    } else {
        to.give(to_name, (found.uid(), found.gid()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testing::TempDir;

    fn tree_of(dir: &Path, files: &[&str]) -> Directory {
        std::fs::create_dir_all(dir).unwrap();
        for name in files {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        Directory::open(dir).unwrap()
    }

    #[test]
    fn links_that_lead_out_are_refused() {
        for (target, level, out) in [
            ("x", 0, false),
            ("../x", 0, true),
            ("../x", 1, false),
            ("./../../x", 2, false),
            ("../../x", 1, true),
            ("a/../x", 3, true),
            ("/x", 3, true),
        ] {
            assert_eq!(leads_out(Path::new(target), level), out, "{target}");
        }
        let dir = TempDir::new("publish");
        let tree = tree_of(&dir.path().join("t"), &["a/f"]);
        symlink("../a", dir.path().join("t/a/fine")).unwrap();
        check(&tree, true, None).unwrap();
        symlink("../../x", dir.path().join("t/a/out")).unwrap();
        assert!(matches!(check(&tree, true, None), Err(PublishError::Link(path)) if path == Path::new("a/out")));
        check(&tree, false, None).unwrap();
    }

    #[test]
    fn trees_are_merged_and_no_link_is_followed() {
        let dir = TempDir::new("publish");
        let alloc = tree_of(&dir.path().join("alloc"), &["t/local/old", "t/local/a/f", "outside/x"]);
        let local = dir.path().join("alloc/t/local");
        symlink("../../outside", local.join("link")).unwrap();
        symlink("../../outside/x", local.join("a/x")).unwrap();
        let from = tree_of(&dir.path().join("new"), &["a/f", "a/x", "b/c/g"]);
        tree(&from, &alloc, Path::new("t/local"), None).unwrap();
        for name in ["a/f", "a/x", "b/c/g", "old"] {
            assert!(local.join(name).is_file() && !local.join(name).is_symlink(), "{name}");
        }
        assert_eq!(std::fs::read_to_string(dir.path().join("alloc/outside/x")).unwrap(), "outside/x");
        // A directory in place of a link, a link in place of the destination, a file in place of a directory.
        let from = tree_of(&dir.path().join("second"), &["link/y"]);
        assert!(tree(&from, &alloc, Path::new("t/local"), None).is_err());
        let from = tree_of(&dir.path().join("third"), &["y"]);
        assert!(tree(&from, &alloc, Path::new("t/local/link"), None).is_err());
        assert!(file(&from, OsStr::new("y"), &alloc, Path::new("t/local/link/y")).is_err());
        assert!(file(&from, OsStr::new("y"), &alloc, Path::new("t/local/a")).is_err());
        assert!(file(&from, OsStr::new("y"), &alloc, Path::new("../y")).is_err());
        file(&from, OsStr::new("y"), &alloc, Path::new("t/local/link")).unwrap();
        assert_eq!(std::fs::read_dir(dir.path().join("alloc/outside")).unwrap().count(), 1);
    }

    #[test]
    fn the_only_file_of_a_tree() {
        let dir = TempDir::new("publish");
        let tree = tree_of(&dir.path().join("t"), &["a/b/f"]);
        assert_eq!(only_file(&tree).unwrap().1, "f");
        std::fs::write(dir.path().join("t/g"), "").unwrap();
        assert!(only_file(&tree).is_err());
        assert!(only_file(&tree_of(&dir.path().join("u"), &[])).is_err());
    }
}
