//! Side indexes: what a snapshot file holds, in a form of which only what is asked for is decoded. The second plan on a
//! file reads its side index instead (`docs/reference/side-index.md`).
//!
//! An index belongs to one content of one file, one build of the program and one user; any other is ignored. Whoever
//! cannot read or write indexes works without.
//!
//! - [`folder`]: the directory of indexes. [`content`]: the identity of a file's content.
//! - [`container`]: the parts of an index file. [`write`], [`write_allocs`]: writing one. [`read`]: opening one, and decoding its rows.
//! - [`write_rows`], [`read_rows`]: the form of rows, and [`tags`], the bytes they begin with.

mod container;
mod content;
mod folder;
mod read;
mod read_rows;
mod tags;
mod write;
mod write_allocs;
mod write_rows;

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;

pub use folder::{Folder, IndexFile};

use self::container::Owner;
use self::content::{Hash, Identity};
use crate::archive::Options;
use crate::deferred::Unreadable;
use crate::file::{self, ClusterSnapshot, SnapshotError};
use encamp_state::State;

/// Why a row cannot be encoded or decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RowError(String);

impl RowError {
    fn new(problem: &str) -> RowError {
        RowError(problem.to_string())
    }

    fn end() -> RowError {
        RowError::new("a row ends early")
    }
}

impl serde::de::Error for RowError {
    fn custom<T: fmt::Display>(problem: T) -> RowError {
        RowError(problem.to_string())
    }
}

impl serde::ser::Error for RowError {
    fn custom<T: fmt::Display>(problem: T) -> RowError {
        RowError(problem.to_string())
    }
}

/// What ends the process if neither an index that was opened nor the snapshot file can be read any more: the file of the
/// index, which is gone already, and the problem. Readers of a state have no use for an error.
pub type Lost = fn(&Path, &RowError) -> !;

/// Where indexes are kept, and how they are used.
#[derive(Debug, Clone)]
pub struct Indexes {
    /// The directory.
    pub folder: Folder,
    /// See [`Lost`].
    pub lost: Lost,
    /// If few allocations are read of the state: what ends the process if one of them cannot be read. Else all of a file
    /// without an index is decoded at once.
    pub deferred: Option<Unreadable>,
    /// Shorter files get no index: they are read quickly.
    pub least: Least,
}

/// The lengths in bytes from which on files get an index.
#[derive(Debug, Clone, Copy)]
pub struct Least {
    /// Of compressed files and server backups.
    pub compressed: u64,
    /// Of text.
    pub plain: u64,
}

impl Default for Least {
    fn default() -> Least {
        Least { compressed: 512 << 10, plain: 4 << 20 }
    }
}

/// A snapshot, and its index if that is to be written.
#[derive(Debug)]
pub struct Loaded {
    /// The snapshot.
    pub snapshot: ClusterSnapshot,
    /// The index that the next reader would like to find.
    pub unwritten: Option<Unwritten>,
}

/// An index that is not written yet.
#[derive(Debug)]
pub struct Unwritten {
    loaded: file::Loaded,
    path: PathBuf,
    identity: Identity,
    options: Options,
    folder: Folder,
}

/// Reads a snapshot file or a server backup: from its index if there is one, else the file itself.
///
/// # Errors
/// The file can't be read or is no snapshot. What is wrong with indexes is no error.
pub fn load(path: &Path, options: Options, indexes: &Indexes) -> Result<Loaded, SnapshotError> {
    let cold = || file::load_as(path, options, indexes.deferred);
    let Some((content, identity)) = indexed(path, indexes.least) else {
        return Ok(Loaded { snapshot: cold()?.snapshot, unwritten: None });
    };
    if let Some(snapshot) = from_index(path, &content, identity, options, indexes) {
        return Ok(Loaded { snapshot, unwritten: None });
    }
    drop(content);
    let loaded = cold()?;
    let snapshot = loaded.snapshot.clone();
    // Without the time of the snapshot, all records would be read to find the latest.
    if snapshot.taken_at.is_zero() {
        return Ok(Loaded { snapshot, unwritten: None });
    }
    let (path, folder) = (path.to_path_buf(), indexes.folder.clone());
    Ok(Loaded { snapshot, unwritten: Some(Unwritten { loaded, path, identity, options, folder }) })
}

/// The content of a snapshot file, as an index was made of it.
#[derive(Debug)]
struct Content {
    path: PathBuf,
    identity: Identity,
    options: Options,
    hash: Hash,
    lost: Lost,
}

impl Content {
    /// All of it; `None` if the file holds something else by now.
    fn load(&self) -> Option<State> {
        let file = File::open(&self.path).ok()?;
        let is_same = || Identity::of(&file).is_ok_and(|identity| identity == self.identity);
        let state = file::load(&self.path, self.options).ok()?.state;
        let same = is_same() && content::digest(&file, self.identity.length).ok()? == self.hash && is_same();
        same.then_some(state)
    }
}

/// The file and its identity, if files like it get an index. Pipes do not: they can be read once.
fn indexed(path: &Path, least: Least) -> Option<(File, Identity)> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    let identity = Identity::of(&file).ok()?;
    let least = if content::is_plain(&file) { least.plain } else { least.compressed };
    (identity.length >= least).then_some((file, identity))
}

/// The snapshot as the index says, if the index is that of the file's content.
fn from_index(
    path: &Path,
    content: &File,
    identity: Identity,
    options: Options,
    indexes: &Indexes,
) -> Option<ClusterSnapshot> {
    let (index, index_path) = indexes.folder.open(path)?;
    let header = container::Header::read(&index)?;
    if header.owner != Owner::this(options, identity.length)? {
        return None;
    }
    let whole = Content { path: path.to_path_buf(), identity, options, hash: header.content, lost: indexes.lost };
    thread::scope(|scope| {
        let digest = scope.spawn(|| content::digest(content, identity.length));
        let snapshot = read::open(index, index_path, &header, whole);
        let digest = digest.join().ok()?.ok()?;
        // A file that is being written to has no content that could be compared.
        let same = digest == header.content && Identity::of(content).ok()? == identity;
        snapshot.filter(|_| same)
    })
}

impl Unwritten {
    /// Writes the index. A failure leaves everything as it was.
    ///
    /// # Errors
    /// The directory is not writable, the disk is full, or the file was changed since it was read.
    pub fn write(self) -> std::io::Result<()> {
        let file = File::open(&self.path)?;
        let changed = || std::io::Error::other("the snapshot was changed");
        if Identity::of(&file)? != self.identity {
            return Err(changed());
        }
        let content = content::digest(&file, self.identity.length)?;
        if Identity::of(&file)? != self.identity {
            return Err(changed());
        }
        let owner = Owner::this(self.options, self.identity.length).ok_or_else(changed)?;
        self.folder.write(&self.path, |index| write::write(index, &self.loaded, &self.path, owner, content))
    }
}

#[cfg(test)]
mod tests;
