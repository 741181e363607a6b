//! The format of plan files of rebalances (`docs/reference/rebalance-file.md`): one JSON object, which `rebalance run`
//! replaces atomically as it goes on.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use encamp_host::platform::files;
use serde::{Deserialize, Serialize};

use crate::plan_file::RecordedState;
use encamp_plan::rebalance::run::Progress;
use encamp_plan::rebalance::{RebalancePlan, Request};
use encamp_snapshot::replace::{make_private, replace};

/// The value of the member `Format`.
const FORMAT: &str = "encamp-rebalance";
/// The only version.
const VERSION: u32 = 1;
/// The size of the largest file that is read, bytes.
const LARGEST: u64 = 256 << 20;

/// Why a plan file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refuses.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is larger than any plan.
    #[error("it is larger than {} MiB", LARGEST >> 20)]
    TooLarge,
    /// The file is of another kind.
    #[error("it is not a plan of a rebalance; rebalance -out writes one")]
    OtherFile,
    /// The version is another one.
    #[error("it has version {0} of the format of rebalance plans; this program reads version {VERSION}: plan again")]
    Version(u64),
    /// The content is not that of a plan.
    #[error("its content is not that of a plan: {0}")]
    Content(#[from] serde_json::Error),
    /// Another process carries the plan out.
    #[error("another process carries this plan out: it holds the lock {}", .0.display())]
    Locked(PathBuf),
}

/// How far a run of a plan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunStatus {
    /// It goes on, or its process was killed.
    Running,
    /// All steps are done.
    Finished,
    /// It went no further, for the reason in [`RunRecord::reason`].
    Stopped,
    /// A signal ended it.
    Interrupted,
    /// `-abort` marked the nodes eligible again.
    Aborted,
}

impl RunStatus {
    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Finished => "finished",
            RunStatus::Stopped => "stopped",
            RunStatus::Interrupted => "interrupted",
            RunStatus::Aborted => "aborted",
        }
    }
}

/// The record of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct RunRecord {
    /// The address of the cluster.
    pub address: String,
    /// When the first run began, Unix nanoseconds.
    pub started: i64,
    /// When the record was written, Unix nanoseconds.
    pub updated: i64,
    /// How far it is.
    pub status: RunStatus,
    /// Why it was stopped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// The steps that are done, and the nodes that are marked.
    pub progress: Progress,
}

/// The content of a plan file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Content {
    /// [`FORMAT`].
    pub format: String,
    /// The version of the format.
    pub schema_version: u32,
    /// The version of the program that wrote the plan.
    pub program: String,
    /// When the plan was made, Unix nanoseconds.
    pub created: i64,
    /// The state that the plan was made on.
    pub state: RecordedState,
    /// The question.
    pub request: Request,
    /// The answer. A run that plans the rest again replaces it.
    pub plan: RebalancePlan,
    /// The run, once it has begun.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<RunRecord>,
}

/// What is read of every version.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Head {
    #[serde(default)]
    format: String,
    #[serde(default)]
    schema_version: u64,
}

impl Content {
    /// A plan that has not been carried out.
    pub fn new(created: i64, state: RecordedState, request: Request, plan: RebalancePlan) -> Content {
        let (format, program) = (FORMAT.to_string(), env!("CARGO_PKG_VERSION").to_string());
        Content { format, schema_version: VERSION, program, created, state, request, plan, run: None }
    }

    /// Whether a run did all steps.
    pub fn is_carried_out(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.status == RunStatus::Finished)
    }
}

/// Reads a plan file.
///
/// # Errors
/// The file cannot be read, is too large, or is no plan of this version.
pub fn read(path: &Path) -> Result<Content, FileError> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Result<Content, FileError> {
    if bytes.len() as u64 > LARGEST {
        return Err(FileError::TooLarge);
    }
    let head: Head = serde_json::from_slice(bytes).map_err(|_| FileError::OtherFile)?;
    if head.format != FORMAT {
        return Err(FileError::OtherFile);
    }
    if head.schema_version != u64::from(VERSION) {
        return Err(FileError::Version(head.schema_version));
    }
    Ok(serde_json::from_slice(bytes)?)
}

/// Writes a plan file: it is on disk, and complete, once this returns.
///
/// # Errors
/// The file cannot be written; what was there before is still there.
pub fn write(path: &Path, content: &Content) -> Result<(), FileError> {
    let mut bytes = serde_json::to_vec_pretty(content)?;
    bytes.push(b'\n');
    // The job of `-fit` may contain secrets.
    replace(path, |to| {
        make_private(to)?;
        to.write_all(&bytes)
    })?;
    Ok(())
}

/// The right to carry a plan out, which one process of the machine has at a time. The file beside the plan that stands
/// for it disappears with this.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Takes it.
    ///
    /// # Errors
    /// Another process has it, or the file cannot be created.
    pub fn take(plan: &Path) -> Result<Lock, FileError> {
        // Plans are replaced, so that a lock of the plan itself would be one of a file that is gone.
        let mut path = std::fs::canonicalize(plan)?.into_os_string();
        path.push(".lock");
        let path = PathBuf::from(path);
        loop {
            let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Err(FileError::Locked(path)),
                Err(TryLockError::Error(e)) => return Err(e.into()),
                Ok(()) => {}
            }
            // The process that had it may have removed the file in between.
            if files::is_at(&file, &path)? {
                return Ok(Lock { path, file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is locked: nobody else takes a file that disappears. A file that stays is no harm.
        files::remove_lock(&self.path);
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_plan::rebalance::{Goal, Limits};

    fn content() -> Content {
        let request = Request { goal: Goal::Even, limits: Limits::default() };
        Content::new(7, RecordedState::default(), request, RebalancePlan::default())
    }

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("encamp-rebalance-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn files_hold_what_was_written() {
        let folder = folder("write");
        let path = folder.join("plan.json");
        let mut written = content();
        let progress = Progress { steps: 1, moved: 2, ..Progress::default() };
        let address = "http://127.0.0.1:4646".to_string();
        let (started, updated, status) = (1, 2, RunStatus::Interrupted);
        written.run = Some(RunRecord { address, started, updated, status, reason: None, progress });
        write(&path, &written).unwrap();
        let read = read(&path).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(&written).unwrap());
        assert_eq!(read.run, written.run);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn other_files_are_refused() {
        let refused = |text: &str| parse(text.as_bytes()).unwrap_err().to_string();
        let other = FileError::OtherFile.to_string();
        assert_eq!(
            [refused(""), refused("[]"), refused("encamp-plan 1\n"), refused("{}")],
            [(); 4].map(|()| other.clone())
        );
        assert!(refused(r#"{"Format":"encamp-rebalance","SchemaVersion":9}"#).starts_with("it has version 9 "));
        let missing = refused(r#"{"Format":"encamp-rebalance","SchemaVersion":1}"#);
        assert!(missing.starts_with("its content is not that of a plan: missing field"), "{missing}");
        let mut value = serde_json::to_value(content()).unwrap();
        value["Unknown"] = 1.into();
        assert!(refused(&value.to_string()).contains("unknown field `Unknown`"));
        let deep = format!("{{\"Format\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(refused(&deep), other);
    }

    #[test]
    fn one_process_has_the_lock() {
        let folder = folder("lock");
        let path = folder.join("plan.json");
        write(&path, &content()).unwrap();
        let first = Lock::take(&path).unwrap();
        assert!(matches!(Lock::take(&path), Err(FileError::Locked(_))));
        // Another name of the same file.
        let link = folder.join("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(matches!(Lock::take(&link), Err(FileError::Locked(_))));
        drop(first);
        assert!(!folder.join("plan.json.lock").exists());
        drop(Lock::take(&link).unwrap());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
