//! The whole state of a snapshot file or of a server backup.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use encamp_server::storage::persist;
use encamp_snapshot::{SnapshotError, archive};
use encamp_state::StateStore;

use super::cluster::SnapshotFlags;
use super::context::Environment;
use super::error::{CommandResult, ErrorContext};

/// A state, and when it was read from its cluster.
pub(super) struct FileState {
    /// The state.
    pub(super) store: StateStore,
    /// When it was read, Unix nanoseconds; `None` if the file does not say.
    pub(super) taken: Option<i64>,
    /// The time that counts as now, Unix nanoseconds.
    pub(super) now: i64,
    /// What a reader should know.
    pub(super) notes: Vec<String>,
}

impl FileState {
    /// Reads a file.
    ///
    /// # Errors
    /// It is none that this program reads.
    pub(super) fn read(file: &str, flags: &SnapshotFlags, env: &Environment) -> CommandResult<FileState> {
        let options = archive::Options { lenient: flags.ignore_unknown_tables };
        let path = env.directory.join(file);
        let loaded = encamp_snapshot::load_with_rest(&path, options);
        if matches!(loaded, Err(SnapshotError::Archive { .. }))
            && let Some((store, taken)) = own_backup(&path)
        {
            return Ok(FileState { store, taken, now: taken.unwrap_or(env.now), notes: Vec::new() });
        }
        let (snapshot, rest) = loaded.context("Error reading snapshot")?;
        let (now, taken) = (snapshot.now(env.now), snapshot.taken_at.unix_nanos().filter(|t| *t > 0));
        let mut store = StateStore::of_state(snapshot.state);
        if let Some(rest) = rest {
            rest.evaluations.into_iter().for_each(|e| store.put_eval(Arc::new(e)));
        }
        Ok(FileState { store, taken, now, notes: snapshot.notes })
    }
}

/// The state of a backup of encamp's own servers, whose records have another format, and when it was taken; `None` if
/// the file is none.
pub(super) fn own_backup(path: &Path) -> Option<(StateStore, Option<i64>)> {
    let content = archive::read_undecoded(File::open(path).ok()?).ok()?;
    let store = persist::read(&mut content.state.as_slice()).ok()?;
    Some((store, content.meta.taken_at().unix_nanos()))
}
