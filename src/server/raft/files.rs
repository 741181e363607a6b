//! Files that are there whole or not at all, and the lock on their directory.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use super::error::StoreError;

/// Begins names of files that are not complete yet.
pub(super) const UNFINISHED: &str = "tmp-";

/// Makes the directory, for the server's user alone, and its parents.
pub(super) fn make_dir(dir: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(StoreError::io("create", dir))
}

/// Opens a new, empty file, for the server's user alone.
pub(super) fn create(path: &Path) -> Result<File, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600);
    options.open(path).map_err(StoreError::io("create", path))
}

/// Makes names in the directory durable.
pub(super) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(StoreError::io("sync", dir))
}

/// Removes a file; one that is not there is fine.
pub(super) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
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

/// Names in the directory, sorted.
pub(super) fn names(dir: &Path) -> Result<Vec<String>, StoreError> {
    let failed = || StoreError::io("list", dir);
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed())? {
        names.extend(entry.map_err(failed())?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// Replaces a small file by `content` and its checksum, durably.
pub(super) fn replace(dir: &Path, name: &str, content: &[u8]) -> Result<(), StoreError> {
    let (temporary, path) = (dir.join(format!("{UNFINISHED}{name}")), dir.join(name));
    let mut file = create(&temporary)?;
    let mut bytes = crc32fast::hash(content).to_le_bytes().to_vec();
    bytes.extend_from_slice(content);
    file.write_all(&bytes).map_err(StoreError::io("write", &temporary))?;
    file.sync_all().map_err(StoreError::io("sync", &temporary))?;
    fs::rename(&temporary, &path).map_err(StoreError::io("rename", &temporary))?;
    sync_dir(dir)
}

/// What [`replace`] wrote; `None` if it never did.
pub(super) fn read(dir: &Path, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let path = dir.join(name);
    let mut bytes = Vec::new();
    match File::open(&path).and_then(|mut f| f.read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(StoreError::io("read", &path)(e)),
    }
    match bytes.split_first_chunk::<4>() {
        Some((sum, content)) if u32::from_le_bytes(*sum) == crc32fast::hash(content) => Ok(Some(content.to_vec())),
        _ => Err(StoreError::Damaged { path, offset: 0, why: "wrong checksum".into() }),
    }
}

/// Holds the directory until it is dropped.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "the lock goes when the file is closed")] File);

/// Keeps other processes out of the directory.
pub(super) fn lock(dir: &Path) -> Result<Lock, StoreError> {
    let path = dir.join("lock");
    let file = create(&path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Lock(file)),
        Err(e) if e == rustix::io::Errno::WOULDBLOCK => Err(StoreError::Locked { path: dir.to_path_buf() }),
        Err(e) => Err(StoreError::io("lock", &path)(e.into())),
    }
}
