//! Files that are replaced atomically, and the lock on their directory.

use std::fs::TryLockError;
use std::io::{Read, Write};
use std::path::Path;

use super::error::StoreError;
use encamp_host::disk::{self, File};
use encamp_model::capability::CapabilityLevel;

/// Format of all files of consensus; it changes with what is in any of them. 1 named the leader's ID beside its term.
pub(super) const FORMAT: u32 = 2;
/// The format of log segments and snapshots of a capability level. Small files keep [`FORMAT`].
pub(super) fn format_of(level: CapabilityLevel) -> u32 {
    level.number().saturating_add(FORMAT - CapabilityLevel::FIRST.number())
}

/// The capability level of a log segment or a snapshot.
///
/// # Errors
/// Only a build of before levels reads the format, or one of a level above `supported`.
pub(super) fn level_of(path: &Path, format: u32, supported: CapabilityLevel) -> Result<CapabilityLevel, StoreError> {
    let number = format.checked_sub(FORMAT - CapabilityLevel::FIRST.number());
    let level = number.and_then(|n| CapabilityLevel::try_from(n).ok());
    let level = level.ok_or_else(|| StoreError::Format { path: path.into(), format })?;
    if level > supported {
        return Err(StoreError::Newer { path: path.into(), level, supported });
    }
    Ok(level)
}

/// Begins small files, since format 2.
const MAGIC: &[u8; 4] = b"ENCF";
/// Begins names of files that are not complete yet.
pub(super) const UNFINISHED: &str = "tmp-";
/// Ends names of damaged files that were set aside, before their number.
pub(super) const ASIDE: &str = ".damaged-";

/// Makes the directory, for the server's user alone, and its parents.
pub(super) fn make_dir(dir: &Path) -> Result<(), StoreError> {
    disk::make_dir(dir).map_err(StoreError::io("create", dir))
}

/// Opens a new, empty file, for the server's user alone.
pub(super) fn create(path: &Path) -> Result<File, StoreError> {
    disk::create(path).map_err(StoreError::io("create", path))
}

/// Makes names in the directory durable.
pub(super) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    disk::sync_dir(dir).map_err(StoreError::io("sync", dir))
}

/// Removes a file; one that is not there is fine.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match disk::remove(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(StoreError::io("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Removes what an interrupted process left unfinished.
pub(super) fn remove_unfinished(dir: &Path) -> Result<(), StoreError> {
    for name in names(dir)? {
        if name.starts_with(UNFINISHED) {
            remove(&dir.join(name))?;
        }
    }
    Ok(())
}

/// A free name for a damaged file, beside it.
fn name_aside(path: &Path) -> Result<std::path::PathBuf, StoreError> {
    let dir = path.parent().unwrap_or(path);
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let taken = names(dir)?;
    let free = (0..=taken.len()).map(|n| format!("{name}{ASIDE}{n}")).find(|n| !taken.contains(n));
    Ok(dir.join(free.unwrap_or_default()))
}

/// Gives a damaged file another name, under which nothing looks for it.
pub(super) fn set_aside(path: &Path) -> Result<(), StoreError> {
    disk::rename(path, &name_aside(path)?).map_err(StoreError::io("rename", path))?;
    sync_dir(path.parent().unwrap_or(path))
}

/// Keeps a copy of a damaged file that will be changed.
pub(super) fn copy_aside(path: &Path) -> Result<(), StoreError> {
    disk::copy(path, &name_aside(path)?).map_err(StoreError::io("copy", path))?;
    sync_dir(path.parent().unwrap_or(path))
}

/// Names in the directory, sorted.
pub(super) fn names(dir: &Path) -> Result<Vec<String>, StoreError> {
    let mut names = disk::names(dir).map_err(StoreError::io("list", dir))?;
    names.sort();
    Ok(names)
}

/// Replaces a small file durably: magic, format, checksum of `content`, `content`.
pub(super) fn replace(dir: &Path, name: &str, content: &[u8]) -> Result<(), StoreError> {
    replace_all(dir, &[name], content)
}

/// Replaces several small files by the same content, one after the other.
pub(super) fn replace_all(dir: &Path, names: &[&str], content: &[u8]) -> Result<(), StoreError> {
    let bytes = [MAGIC, &FORMAT.to_le_bytes()[..], &crc32fast::hash(content).to_le_bytes(), content].concat();
    let temporary = |name: &str| dir.join(format!("{UNFINISHED}{name}"));
    for name in names {
        let temporary = temporary(name);
        let mut file = create(&temporary)?;
        file.write_all(&bytes).map_err(StoreError::io("write", &temporary))?;
        file.sync_all().map_err(StoreError::io("sync", &temporary))?;
    }
    for name in names {
        let temporary = temporary(name);
        disk::rename(&temporary, &dir.join(name)).map_err(StoreError::io("rename", &temporary))?;
    }
    sync_dir(dir)
}

/// The value that [`replace`] wrote; `None` if it never did.
pub(super) fn read(dir: &Path, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let path = dir.join(name);
    let mut bytes = Vec::new();
    match disk::open(&path).and_then(|mut f| f.read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(StoreError::io("read", &path)(e)),
    }
    let rest = bytes.strip_prefix(MAGIC);
    // Format 1 began with the checksum.
    let (format, rest) = rest.and_then(number).unwrap_or((1, &bytes));
    match number(rest) {
        Some((sum, content)) if sum != crc32fast::hash(content) => {}
        Some((_, content)) if format == FORMAT => return Ok(Some(content.to_vec())),
        Some(_) => return Err(StoreError::Format { path, format }),
        None => {}
    }
    Err(StoreError::Damaged { path, offset: 0, why: "wrong checksum".into() })
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk().map(|(number, rest)| (u32::from_le_bytes(*number), rest))
}

/// Holds the directory until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "the lock goes when the file is closed")] File);

/// Keeps other processes out of the directory.
pub(super) fn lock(dir: &Path) -> Result<Lock, StoreError> {
    let path = dir.join("lock");
    let file = create(&path)?;
    match file.lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked { path: dir.to_path_buf() }),
        Err(TryLockError::Error(e)) => Err(StoreError::io("lock", &path)(e)),
    }
}
