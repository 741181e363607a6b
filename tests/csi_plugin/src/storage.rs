//! The storage provider: a directory that all plugins share.
//!
//! `volumes/<id>` and `snapshots/<id>` hold `record.json` and the contents, `data` or `device`; `nodes/<id>.json` is a
//! node. A file is replaced by renaming, a directory appears and disappears by renaming, so that SIGKILL leaves either
//! the old or the new state. `lock` is held during each change; `violations.jsonl` is appended to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tonic::Status;

use crate::records::{Node, Snapshot, Volume};

/// The contents of a volume that is used as a file system.
pub(crate) const DATA: &str = "data";
/// The contents of a volume that is used as a block device.
pub(crate) const DEVICE: &str = "device";
/// The most bytes that a file for a block device takes up, whatever the capacity.
const LARGEST_DEVICE: u64 = 1 << 20;
/// The name of a directory that is being made or removed begins so.
const UNFINISHED: char = '.';

/// The directory.
#[derive(Debug)]
pub(crate) struct Storage {
    root: PathBuf,
}

/// The directory while nobody else changes it.
pub(crate) struct Locked<'a> {
    root: &'a Path,
    /// Unlocks when it is closed.
    _lock: File,
}

/// An error of the storage as one of a call.
fn failed(path: &Path, error: &io::Error) -> Status {
    let text = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Status::resource_exhausted(text),
        _ => Status::internal(text),
    }
}

impl Storage {
    pub(crate) fn open(root: &Path) -> io::Result<Storage> {
        for folder in ["volumes", "snapshots", "nodes"] {
            fs::create_dir_all(root.join(folder))?;
        }
        Ok(Storage { root: root.canonicalize()? })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Waits until nobody else changes the storage.
    pub(crate) fn lock(&self) -> Result<Locked<'_>, Status> {
        let path = self.root.join("lock");
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = opened.map_err(|e| failed(&path, &e))?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|e| failed(&path, &e.into()))?;
        Ok(Locked { root: &self.root, _lock: lock })
    }
}

/// Whether an ID can be that of something in the storage; IDs are names of files.
fn plain(id: &str) -> bool {
    !id.is_empty() && !id.starts_with(UNFINISHED) && !id.contains('/') && id.len() <= 200
}

impl Locked<'_> {
    /// Removes what a killed plugin left unfinished.
    pub(crate) fn clean(&mut self) -> Result<(), Status> {
        for folder in ["volumes", "snapshots", "nodes"] {
            for name in self.names(folder, true)? {
                let path = self.root.join(folder).join(name);
                let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                removed.map_err(|e| failed(&path, &e))?;
            }
        }
        Ok(())
    }

    /// Names of files in a folder, sorted.
    fn names(&self, folder: &str, unfinished: bool) -> Result<Vec<String>, Status> {
        let path = self.root.join(folder);
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(|e| failed(&path, &e))? {
            let name = entry.map_err(|e| failed(&path, &e))?.file_name().to_string_lossy().into_owned();
            if name.starts_with(UNFINISHED) == unfinished {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn read<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, Status> {
        match fs::read(path) {
            Ok(bytes) => {
                let read = serde_json::from_slice(&bytes);
                read.map(Some).map_err(|e| Status::internal(format!("{}: {e}", path.display())))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(failed(path, &e)),
        }
    }

    /// Replaces a file.
    fn write<T: Serialize>(&mut self, path: &Path, value: &T) -> Result<(), Status> {
        let text = serde_json::to_vec_pretty(value).map_err(|e| Status::internal(e.to_string()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let new = path.with_file_name(format!("{UNFINISHED}{name}"));
        fs::write(&new, text).and_then(|()| fs::rename(&new, path)).map_err(|e| failed(path, &e))
    }

    pub(crate) fn volume_path(&self, id: &str) -> PathBuf {
        self.root.join("volumes").join(id)
    }

    fn snapshot_path(&self, id: &str) -> PathBuf {
        self.root.join("snapshots").join(id)
    }

    /// The volume with this ID.
    pub(crate) fn volume(&self, id: &str) -> Result<Option<Volume>, Status> {
        if !plain(id) {
            return Ok(None);
        }
        self.read(&self.volume_path(id).join("record.json"))
    }

    /// The volume with this ID, or `NOT_FOUND`.
    pub(crate) fn known(&self, id: &str) -> Result<Volume, Status> {
        self.volume(id)?.ok_or_else(|| Status::not_found(format!("there is no volume {id}")))
    }

    /// All volumes by ID.
    pub(crate) fn volumes(&self) -> Result<Vec<Volume>, Status> {
        let all = self.names("volumes", false)?.into_iter().map(|id| self.known(&id));
        all.collect()
    }

    pub(crate) fn save(&mut self, volume: &Volume) -> Result<(), Status> {
        self.write(&self.volume_path(&volume.id).join("record.json"), volume)
    }

    /// Makes a volume with the contents of `from`, the folder of a volume or snapshot.
    pub(crate) fn create(&mut self, volume: &Volume, from: Option<&Path>) -> Result<(), Status> {
        let (path, block) = (self.volume_path(&volume.id), volume.block());
        self.make(&path, volume, from, |new| match block {
            true => File::create(new.join(DEVICE))?.set_len(volume.capacity.min(LARGEST_DEVICE)),
            false => fs::create_dir(new.join(DATA)),
        })
    }

    pub(crate) fn create_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Status> {
        let from = self.volume_path(&snapshot.source);
        self.make(&self.snapshot_path(&snapshot.id), snapshot, Some(&from), |_| Ok(()))
    }

    /// Makes a folder with a record and contents; it appears at once.
    fn make<T: Serialize>(
        &mut self,
        path: &Path,
        record: &T,
        from: Option<&Path>,
        empty: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<(), Status> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let new = path.with_file_name(format!("{UNFINISHED}{name}"));
        let made = fs::create_dir(&new).and_then(|()| match from {
            None => empty(&new),
            Some(from) if from.join(DEVICE).exists() => fs::copy(from.join(DEVICE), new.join(DEVICE)).map(drop),
            Some(from) => copy(&from.join(DATA), &new.join(DATA)),
        });
        made.map_err(|e| failed(&new, &e))?;
        self.write(&new.join("record.json"), record)?;
        fs::rename(&new, path).map_err(|e| failed(path, &e))
    }

    pub(crate) fn delete(&mut self, volume: &Volume) -> Result<(), Status> {
        self.remove(&self.volume_path(&volume.id))
    }

    pub(crate) fn delete_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Status> {
        self.remove(&self.snapshot_path(&snapshot.id))
    }

    /// Removes a folder; it disappears at once.
    fn remove(&mut self, path: &Path) -> Result<(), Status> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let old = path.with_file_name(format!("{UNFINISHED}{name}"));
        fs::rename(path, &old).and_then(|()| fs::remove_dir_all(&old)).map_err(|e| failed(path, &e))
    }

    pub(crate) fn snapshot(&self, id: &str) -> Result<Option<Snapshot>, Status> {
        if !plain(id) {
            return Ok(None);
        }
        self.read(&self.snapshot_path(id).join("record.json"))
    }

    /// The folder with the contents of a snapshot.
    pub(crate) fn snapshot_contents(&self, snapshot: &Snapshot) -> PathBuf {
        self.snapshot_path(&snapshot.id)
    }

    /// All snapshots by ID.
    pub(crate) fn snapshots(&self) -> Result<Vec<Snapshot>, Status> {
        let mut all = Vec::new();
        for id in self.names("snapshots", false)? {
            all.extend(self.snapshot(&id)?);
        }
        Ok(all)
    }

    pub(crate) fn save_node(&mut self, node: &Node) -> Result<(), Status> {
        self.write(&self.root.join("nodes").join(format!("{}.json", node.id)), node)
    }

    pub(crate) fn node(&self, id: &str) -> Result<Option<Node>, Status> {
        if !plain(id) {
            return Ok(None);
        }
        self.read(&self.root.join("nodes").join(format!("{id}.json")))
    }

    /// All nodes by ID.
    pub(crate) fn nodes(&self) -> Result<Vec<Node>, Status> {
        let mut all = Vec::new();
        for name in self.names("nodes", false)? {
            all.extend(self.read(&self.root.join("nodes").join(name))?);
        }
        Ok(all)
    }

    /// Records that a volume was used as it must not be.
    pub(crate) fn violation(&mut self, violation: &Value) -> Result<(), Status> {
        let path = self.root.join("violations.jsonl");
        append(&path, violation).map_err(|e| failed(&path, &e))
    }

    /// Which calls a fault has seen; kept across restarts.
    pub(crate) fn count(&mut self, fault: &str) -> Result<u64, Status> {
        let path = self.root.join("faults.json");
        let mut counts: std::collections::BTreeMap<String, u64> = self.read(&path)?.unwrap_or_default();
        let count = counts.entry(fault.into()).or_default();
        *count += 1;
        let count = *count;
        self.write(&path, &counts)?;
        Ok(count)
    }
}

/// Appends a line in one write.
pub(crate) fn append(path: &Path, value: &Value) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{value}\n").as_bytes())
}

/// Copies a directory with files, directories and links.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, path, new) = (entry.file_type()?, entry.path(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&path, &new)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&path)?, &new)?;
        } else if kind.is_file() {
            fs::copy(&path, &new)?;
        }
    }
    Ok(())
}

/// A new ID. IDs are never used again: a call for a deleted volume must not reach another one.
pub(crate) fn new_id(kind: &str) -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{kind}-{now:x}-{:x}-{:x}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed))
}

/// Unix seconds.
pub(crate) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}
