//! The file in which a supervisor leaves how its task ended.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::Exit;
use crate::directory::{Directory, Links};
use crate::processes;

/// The file in which a supervisor notes its process.
const NOTE: &str = "supervisor";

/// Where a supervisor writes how a task ended: in the task's directory, which the task may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ExitFile(PathBuf);

impl ExitFile {
    /// The file of a run of a task.
    pub(crate) fn new(task_dir: &Path, run: &str) -> ExitFile {
        ExitFile(task_dir.join("private").join(format!("{run}.exit")))
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Its name in its directory.
    pub(super) fn name(&self) -> &str {
        self.0.file_name().and_then(|n| n.to_str()).unwrap_or_default()
    }

    /// The directory of the file. The allocation's is the agent's own, what is below is not.
    pub(super) fn open(&self) -> io::Result<Directory> {
        let mut above = self.0.ancestors().skip(2);
        let (Some(task), Some(alloc)) = (above.next().and_then(Path::file_name), above.next()) else {
            return Err(io::Error::other(format!("{} is in no allocation", self.0.display())));
        };
        Ok(Directory::open(alloc)?.open_dir(Path::new(task).join("private"), Links::Refused)?)
    }

    /// Notes which process is the supervisor, until a later run of the task.
    pub(super) fn note_supervisor(&self) -> io::Result<()> {
        let me = std::process::id();
        let note = (me, processes::stat(me).map_or(0, |s| s.starttime));
        Ok(self.open()?.replace(NOTE, &serde_json::to_vec(&note)?, 0o600, None)?)
    }

    /// The supervisor of the last run of the task, and its start in ticks.
    pub(crate) fn supervisor(&self) -> Option<(u32, u64)> {
        let (file, _) = self.open().ok()?.open_file(NOTE, Links::Refused).ok()?;
        serde_json::from_reader(file).ok()
    }

    /// How the task ended; none if nobody wrote it down.
    pub(crate) fn read(&self) -> Option<Exit> {
        let (file, _) = self.open().ok()?.open_file(self.name(), Links::Refused).ok()?;
        serde_json::from_reader(file).ok()
    }

    /// Removes it.
    pub(crate) fn remove(&self) {
        let _ = self.open().and_then(|d| d.remove_file(self.name()));
    }
}
