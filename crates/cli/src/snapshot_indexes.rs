//! The side indexes of snapshot files, as commands use them: read before a command does its work, and written after it
//! has printed everything.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;

use super::cluster::cache_directory;
use super::context::Environment;
use super::render::styled::one_line;
use encamp_snapshot::side_index::{Folder, Indexes, Least, RowError, Unwritten};
use encamp_snapshot::{SnapshotError, Unreadable};

/// The exit code of errors of the command that runs.
static EXIT_CODE: AtomicU8 = AtomicU8::new(1);

/// Notes the exit code of errors of the command that runs.
pub(super) fn set_exit_code(code: u8) {
    EXIT_CODE.store(code, Ordering::Relaxed);
}

/// The indexes of the user; `None` if the user has no cache directory. `few`: the command reads few allocations.
pub(super) fn of(env: &Environment, few: bool) -> Option<Indexes> {
    let deferred = few.then_some(unreadable as Unreadable);
    Some(Indexes { folder: folder(env)?, lost, deferred, least: Least::default() })
}

/// The directory of the indexes.
pub(super) fn folder(env: &Environment) -> Option<Folder> {
    Some(Folder::new(&cache_directory(env)?))
}

/// Ends the process, because a part of the state cannot be read any more, not from the snapshot file either.
fn lost(index: &Path, problem: &RowError) -> ! {
    end(&format!(
        "its side index {:?} was damaged ({problem}), and the snapshot file has changed or cannot be read any more. The \
         index is removed: run the command again",
        index.display().to_string()
    ))
}

/// Ends the process, because an allocation that is needed cannot be read.
pub(super) fn unreadable(problem: &SnapshotError) -> ! {
    end(&problem.to_string())
}

fn end(problem: &str) -> ! {
    encamp_snapshot::replace::abandon();
    // Nothing can be done if standard error is closed.
    let _ = writeln!(std::io::stderr(), "{}", one_line(&format!("Error reading snapshot: {problem}")));
    std::process::exit(i32::from(EXIT_CODE.load(Ordering::Relaxed)))
}

/// Indexes of files that were read without.
#[derive(Debug, Clone, Default)]
pub struct UnwrittenIndexes(Arc<Mutex<Vec<Unwritten>>>);

impl UnwrittenIndexes {
    pub(super) fn add(&self, index: Option<Unwritten>) {
        self.0.lock().extend(index);
    }

    /// Writes them. Who cannot write one does without the next time as well.
    pub(super) fn write(&self) {
        for index in self.0.lock().drain(..) {
            let _ = index.write();
        }
    }
}
