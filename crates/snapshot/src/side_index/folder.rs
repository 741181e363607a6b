//! The directory of indexes: a file per snapshot, readable only by the user.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use encamp_host::platform::files::{DirBuilderExt, OpenOptionsExt, is_own, open_itself};
use sha2::{Digest, Sha256};

/// How names of indexes end.
const ENDING: &str = "index";
/// How names of unfinished indexes end.
const UNFINISHED: &str = "tmp";
/// Unfinished indexes that are so old belong to nobody.
const ABANDONED: Duration = Duration::from_secs(600);
/// The most indexes that are kept, and their size in bytes.
const MOST: usize = 16;
const LARGEST: u64 = 1 << 30;

/// A directory of indexes.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

/// An index, as it is listed.
#[derive(Debug, Clone)]
pub struct IndexFile {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last used.
    pub used: SystemTime,
}

impl Folder {
    /// The directory within the cache directory of the user.
    pub fn new(cache: &Path) -> Folder {
        Folder(cache.join("snapshots"))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The place of the index of a snapshot file; `None` if the file is not there.
    pub(super) fn place(&self, snapshot: &Path) -> Option<PathBuf> {
        let hash = Sha256::digest(fs::canonicalize(snapshot).ok()?.as_os_str().as_encoded_bytes());
        let name: String = hash.iter().take(16).map(|b| format!("{b:02x}")).collect();
        Some(self.0.join(format!("{name}.{ENDING}")))
    }

    fn is_safe(&self) -> bool {
        fs::symlink_metadata(&self.0).is_ok_and(|m| m.is_dir() && is_own(&m))
    }

    /// Opens the index of a snapshot file, if there is one that the user wrote.
    pub(super) fn open(&self, snapshot: &Path) -> Option<(File, PathBuf)> {
        let place = self.place(snapshot)?;
        if !self.is_safe() {
            return None;
        }
        let file = open_itself(&place).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || !is_own(&metadata) {
            return None;
        }
        // Those that were not used for long are removed first. That is not worth an error.
        let _ = file.set_modified(SystemTime::now());
        Some((file, place))
    }

    /// Writes the index of a snapshot file; it appears when it is complete.
    ///
    /// # Errors
    /// The directory is not the user's, or `write` fails.
    pub(super) fn write(&self, snapshot: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        let place = self.place(snapshot).ok_or(io::ErrorKind::NotFound)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        if !self.is_safe() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let unfinished = place.with_extension(format!("{}.{UNFINISHED}", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        let written = write(&file).and_then(|()| fs::rename(&unfinished, &place));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        self.keep_bounded(&place);
        written
    }

    /// The indexes, those that were used last first.
    pub fn list(&self) -> Vec<IndexFile> {
        let mut found: Vec<IndexFile> = self.files(ENDING).collect();
        found.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.path.cmp(&b.path)));
        found
    }

    /// Removes all indexes; how many there were.
    ///
    /// # Errors
    /// One of them can't be removed.
    pub fn clear(&self) -> io::Result<usize> {
        let all = self.list();
        all.iter().try_for_each(|index| fs::remove_file(&index.path))?;
        Ok(all.len())
    }

    fn files(&self, ending: &str) -> impl Iterator<Item = IndexFile> {
        let entries = fs::read_dir(&self.0).ok().into_iter().flatten().flatten();
        let named = entries.filter(move |e| e.path().extension().is_some_and(|found| found == ending));
        named.filter_map(|e| {
            let metadata = e.metadata().ok().filter(Metadata::is_file)?;
            Some(IndexFile { path: e.path(), size: metadata.len(), used: metadata.modified().ok()? })
        })
    }

    /// Removes what was not used for longest until the rest is small enough; the index at `newest` stays.
    fn keep_bounded(&self, newest: &Path) {
        let mut kept = 0;
        let others = self.list().into_iter().filter(|index| index.path != newest);
        let mut size = fs::metadata(newest).map_or(0, |m| m.len());
        for index in others {
            size = size.saturating_add(index.size);
            kept += 1;
            if kept >= MOST || size > LARGEST {
                let _ = fs::remove_file(&index.path);
            }
        }
        let now = SystemTime::now();
        let abandoned = self.files(UNFINISHED).filter(|f| now.duration_since(f.used).is_ok_and(|age| age > ABANDONED));
        abandoned.for_each(|file| drop(fs::remove_file(file.path)));
    }
}
