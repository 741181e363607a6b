//! Errors of the server's calls, as returned to clients (`docs/spec/http-api.md §3`).

use encamp_model::outcome::NO_LEADER;
use encamp_raft::ProposeError;

/// A refused or failed call: clients check its status and text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// HTTP status.
    pub status: u16,
    /// The text, without an additional trailing newline.
    pub message: String,
}

impl Error {
    /// An error with any status.
    pub fn new(status: u16, message: impl Into<String>) -> Error {
        Error { status, message: message.into() }
    }

    /// The request is malformed.
    pub fn bad(message: impl Into<String>) -> Error {
        Error::new(400, message)
    }

    /// Permission is denied.
    pub fn denied(message: impl Into<String>) -> Error {
        Error::new(403, message)
    }

    /// The requested object does not exist.
    pub fn not_found(message: impl Into<String>) -> Error {
        Error::new(404, message)
    }

    /// Any other error, with the status that Nomad uses for most refused writes.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(500, message)
    }

    /// There is no leader.
    pub fn no_leader() -> Error {
        Error::internal(NO_LEADER)
    }
}

impl From<ProposeError> for Error {
    fn from(e: ProposeError) -> Error {
        match e {
            ProposeError::NotLeader { .. } => Error::no_leader(),
            ProposeError::Timeout | ProposeError::Refused(_) | ProposeError::Fatal(_) => Error::internal(e.to_string()),
        }
    }
}

/// The text for several errors: `1 error occurred:` and one line per error.
pub fn multi_error<S: AsRef<str>>(errors: &[S]) -> String {
    let count = errors.len();
    let mut out = format!("{count} error{} occurred:\n", if count == 1 { "" } else { "s" });
    errors.iter().for_each(|e| out.push_str(&format!("\t* {}\n", e.as_ref())));
    out.push('\n');
    out
}
