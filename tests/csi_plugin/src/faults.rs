//! Faults: a JSON list in a file that is read at each call, so that a test can change it at any time.
//!
//! ```json
//! [{"method": "NodeStageVolume", "nth": 1, "when": "after", "what": "exit"}]
//! ```
//!
//! A fault happens at the `nth` call of the method since the entry was first seen, by whichever plugin of the storage
//! directory, also after restarts; 0 stands for every call.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tonic::{Code, Status};

use crate::storage::Storage;

/// When a fault happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum When {
    /// Before the call has any effect.
    Before,
    /// After the call took effect, before it is answered.
    After,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// `exit`: the plugin kills itself by SIGKILL.
    Exit,
    /// `hang`: there is never an answer.
    Hang,
    /// `error:CODE`: the name of a gRPC status code, such as `ABORTED`. The text contains the secrets of the call.
    Error(Code),
    /// `slow:MILLISECONDS`.
    Slow(Duration),
    /// `lie`: an answer without content, such as a volume without ID; *before*: nothing is done either.
    Lie,
    /// `twice`: the answer is sent twice.
    Twice,
}

/// An entry of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    method: String,
    nth: u64,
    when: When,
    what: String,
}

/// The file.
pub(crate) struct Faults(Option<PathBuf>);

impl Faults {
    pub(crate) fn new(path: Option<PathBuf>) -> Faults {
        Faults(path)
    }

    /// The faults of this call of a method.
    pub(crate) fn of(&self, method: &str, storage: &Storage) -> Result<Vec<(When, What)>, Status> {
        let Some(path) = &self.0 else { return Ok(Vec::new()) };
        let mut faults = Vec::new();
        for entry in entries(path).map_err(|e| Status::internal(format!("{}: {e}", path.display())))? {
            if entry.method != method {
                continue;
            }
            let what = what(&entry.what).ok_or_else(|| Status::internal(format!("no fault: {:?}", entry.what)))?;
            let name = serde_json::to_string(&entry).map_err(|e| Status::internal(e.to_string()))?;
            if entry.nth == 0 || storage.lock()?.count(&name)? == entry.nth {
                faults.push((entry.when, what));
            }
        }
        Ok(faults)
    }
}

fn entries(path: &Path) -> Result<Vec<Entry>, Box<dyn std::error::Error>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(e.into()),
    }
}

fn what(text: &str) -> Option<What> {
    Some(match text.split_once(':') {
        None => match text {
            "exit" => What::Exit,
            "hang" => What::Hang,
            "lie" => What::Lie,
            "twice" => What::Twice,
            _ => return None,
        },
        Some(("error", name)) => What::Error(code(name)?),
        Some(("slow", milliseconds)) => What::Slow(Duration::from_millis(milliseconds.parse().ok()?)),
        Some(_) => return None,
    })
}

fn code(name: &str) -> Option<Code> {
    Some(match name {
        "CANCELLED" => Code::Cancelled,
        "UNKNOWN" => Code::Unknown,
        "INVALID_ARGUMENT" => Code::InvalidArgument,
        "DEADLINE_EXCEEDED" => Code::DeadlineExceeded,
        "NOT_FOUND" => Code::NotFound,
        "ALREADY_EXISTS" => Code::AlreadyExists,
        "PERMISSION_DENIED" => Code::PermissionDenied,
        "RESOURCE_EXHAUSTED" => Code::ResourceExhausted,
        "FAILED_PRECONDITION" => Code::FailedPrecondition,
        "ABORTED" => Code::Aborted,
        "OUT_OF_RANGE" => Code::OutOfRange,
        "UNIMPLEMENTED" => Code::Unimplemented,
        "INTERNAL" => Code::Internal,
        "UNAVAILABLE" => Code::Unavailable,
        "DATA_LOSS" => Code::DataLoss,
        "UNAUTHENTICATED" => Code::Unauthenticated,
        _ => return None,
    })
}
