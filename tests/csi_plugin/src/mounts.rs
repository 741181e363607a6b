//! Bind mounts of this process's mount namespace.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags, mount_bind, mount_remount, unmount};
use tonic::Status;

/// What is mounted at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The path in the file system that is mounted.
    pub(crate) root: String,
    pub(crate) read_only: bool,
}

/// An error about a path as one of a call.
pub(crate) fn failed(path: &Path, error: &io::Error) -> Status {
    Status::internal(format!("{}: {error}", path.display()))
}

/// The uppermost mount at a path.
pub(crate) fn at(path: &Path) -> Result<Option<Mount>, Status> {
    let table = Path::new("/proc/self/mountinfo");
    let text = fs::read_to_string(table).map_err(|e| failed(table, &e))?;
    Ok(text.lines().rev().filter_map(parse).find(|(place, _)| Path::new(place) == path).map(|(_, mount)| mount))
}

/// A line of the table: `id parent device root place options …`.
fn parse(line: &str) -> Option<(String, Mount)> {
    let mut fields = line.split(' ').skip(3);
    let (root, place, options) = (fields.next()?, fields.next()?, fields.next()?);
    let read_only = options.split(',').any(|o| o == "ro");
    Some((unescaped(place), Mount { root: unescaped(root), read_only }))
}

/// A path of the table: blanks and the like are octal numbers.
fn unescaped(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        let digits: Vec<u8> = if b == b'\\' { bytes.by_ref().take(3).collect() } else { Vec::new() };
        match digits.as_slice() {
            [] => out.push(b),
            digits => out.push(digits.iter().fold(0_u8, |n, d| n.wrapping_mul(8).wrapping_add(d.wrapping_sub(b'0')))),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Mounts a directory or file at a target, which is made if it is missing. What is mounted there already is completed.
pub(crate) fn bind(source: &Path, target: &Path, read_only: bool) -> Result<(), Status> {
    if fs::symlink_metadata(target).is_ok_and(|m| m.is_symlink()) {
        return Err(Status::invalid_argument(format!("{} is a symbolic link", target.display())));
    }
    if at(target)?.is_none() {
        let made = match source.is_dir() {
            true => fs::create_dir(target),
            false => File::create_new(target).map(drop),
        };
        match made {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(failed(target, &e)),
            Ok(()) | Err(_) => {}
        }
        mount_bind(source, target).map_err(|e| failed(target, &e.into()))?;
    }
    if read_only && at(target)?.is_some_and(|m| !m.read_only) {
        mount_remount(target, MountFlags::BIND | MountFlags::RDONLY, "").map_err(|e| failed(target, &e.into()))?;
    }
    Ok(())
}

/// Unmounts what is at a path, if anything is.
pub(crate) fn release(path: &Path) -> Result<(), Status> {
    while at(path)?.is_some() {
        unmount(path, UnmountFlags::NOFOLLOW).map_err(|e| failed(path, &e.into()))?;
    }
    Ok(())
}

/// Removes a target that is not mounted any more.
pub(crate) fn remove(target: &Path) -> Result<(), Status> {
    let Ok(kind) = fs::symlink_metadata(target) else { return Ok(()) };
    let removed = if kind.is_dir() { fs::remove_dir(target) } else { fs::remove_file(target) };
    removed.map_err(|e| failed(target, &e))
}
