//! The persisted state of a group: its size and its instances (`docs/spec/cluster-scaling.md §9.2`). It is written
//! before every change, so that a crash at any point leaves no unknown instance.

use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::process::Process;
use crate::provider::ProviderError;

/// The version of the file.
const VERSION: u32 = 1;
const GROUP: &str = "group.json";
/// The retained part of the standard error of an instance that ended by itself, in bytes.
const MOST_ERRORS: u64 = 64 << 10;
/// How long another process may hold the lock of a group.
const LOCK: Duration = Duration::from_secs(5);

/// Where an instance is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// It is about to be started. Whoever finds it in a file ends it: the process that started it has ended.
    Starting,
    /// It was started.
    Running,
    /// It is being ended; then it is forgotten.
    Terminating,
    /// It left the group and goes on.
    Detached,
}

/// An instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Entry {
    pub state: State,
    /// Its agent, once it was started.
    #[serde(default)]
    pub process: Option<Process>,
    /// When it was created, Unix nanoseconds.
    pub created: i64,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Group {
    version: u32,
    pub desired: i64,
    /// By ID.
    pub instances: BTreeMap<String, Entry>,
}

/// The directory of a group, locked against other processes.
pub(super) struct Store {
    directory: PathBuf,
    /// Held as long as this lives.
    _lock: File,
}

fn failed(path: &Path) -> impl Fn(io::Error) -> ProviderError {
    let path = path.display().to_string();
    move |e| ProviderError::Failed(format!("{path}: {e}"))
}

/// Makes a directory for its owner alone, and its parents.
pub(super) fn make_directory(path: &Path) -> Result<(), ProviderError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed(path))
}

/// Writes a file as a whole: it has the old or the new content after a crash.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<(), ProviderError> {
    let temporary = path.with_extension("new");
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        path.parent().map_or(Ok(()), |directory| File::open(directory)?.sync_all())
    };
    write().map_err(failed(path))
}

/// Appends the end of one file to another.
fn append_end(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    let length = from.metadata()?.len();
    from.seek(SeekFrom::Start(length.saturating_sub(MOST_ERRORS)))?;
    let mut to = OpenOptions::new().create(true).append(true).mode(0o600).open(to)?;
    io::copy(&mut from.take(MOST_ERRORS), &mut to)?;
    Ok(())
}

impl Store {
    /// Opens the directory of a group and locks it.
    ///
    /// # Errors
    /// The directory cannot be written to, or another process keeps the lock.
    pub(super) fn open(directory: &Path) -> Result<Store, ProviderError> {
        make_directory(directory)?;
        let path = directory.join("lock");
        let mut options = OpenOptions::new();
        let lock = options.write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed(&path))?;
        let began = Instant::now();
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Store { directory: directory.to_path_buf(), _lock: lock }),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) if began.elapsed() < LOCK => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    let text = format!("{} is in use by another process", directory.display());
                    return Err(ProviderError::Failed(text));
                }
                Err(e) => return Err(failed(&path)(e.into())),
            }
        }
    }

    /// Reads the group; one that was never written has the initial size.
    ///
    /// # Errors
    /// The file cannot be read or makes no sense.
    pub(super) fn load(&self, initial: i64) -> Result<Group, ProviderError> {
        let path = self.directory.join(GROUP);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Ok(Group { version: VERSION, desired: initial, instances: BTreeMap::new() });
            }
            Err(e) => return Err(failed(&path)(e)),
        };
        let wrong = |text: String| ProviderError::Failed(format!("{}: {text}", path.display()));
        let group: Group = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
        if group.version != VERSION {
            return Err(wrong(format!("its version is {}, not {VERSION}", group.version)));
        }
        // An ID is the name of a directory.
        let odd = |id: &&String| id.is_empty() || !id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        match group.instances.keys().find(odd) {
            Some(id) => Err(wrong(format!("{id:?} is not an instance ID"))),
            None => Ok(group),
        }
    }

    /// Writes the group.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn save(&self, group: &Group) -> Result<(), ProviderError> {
        let text = serde_json::to_vec_pretty(group).map_err(|e| ProviderError::Failed(e.to_string()))?;
        write(&self.directory.join(GROUP), &text)
    }

    /// The directory of an instance.
    pub(super) fn instance(&self, id: &str) -> PathBuf {
        self.directory.join(id)
    }

    /// Removes the directory of an instance.
    ///
    /// # Errors
    /// Something in it cannot be removed.
    pub(super) fn remove(&self, id: &str) -> Result<(), ProviderError> {
        let path = self.instance(id);
        match std::fs::remove_dir_all(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed(&path)(e)),
            _ => Ok(()),
        }
    }

    /// Keeps the log of an instance that ended by itself, with the end of its standard error, in place of that of an
    /// earlier one; gives its path. Whatever of it cannot be kept is lost: it must not hold up a replacement.
    pub(super) fn keep_log(&self, instance: &Path) -> PathBuf {
        let kept = self.directory.join("last-failure.log");
        if std::fs::rename(instance.join(super::LOG), &kept).is_err() {
            // An agent that does not get as far as to its log has none.
            let _ = std::fs::remove_file(&kept);
        }
        let _ = append_end(&instance.join(super::ERRORS), &kept);
        kept
    }
}
