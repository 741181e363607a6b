//! Errors of the server's calls, as clients see them (`docs/spec/http-api.md §3`).

use encamp_model::outcome::NO_LEADER;
use encamp_raft::ProposeError;

/// A refused or failed call: what clients test for is the status and the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// HTTP status.
    pub status: u16,
    /// The text, without a newline at its end unless it has one of its own.
    pub message: String,
}

impl Error {
    /// With any status.
    pub fn new(status: u16, message: impl Into<String>) -> Error {
        Error { status, message: message.into() }
    }

    /// The request makes no sense.
    pub fn bad(message: impl Into<String>) -> Error {
        Error::new(400, message)
    }

    /// Not allowed.
    pub fn denied(message: impl Into<String>) -> Error {
        Error::new(403, message)
    }

    /// What was asked for is not there.
    pub fn not_found(message: impl Into<String>) -> Error {
        Error::new(404, message)
    }

    /// Everything else, as the reference answers most refusals of writes.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(500, message)
    }

    /// Nobody leads.
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

/// The text of several errors: `1 error occurred:` and a line for each.
pub fn multi_error<S: AsRef<str>>(errors: &[S]) -> String {
    let count = errors.len();
    let mut out = format!("{count} error{} occurred:\n", if count == 1 { "" } else { "s" });
    errors.iter().for_each(|e| out.push_str(&format!("\t* {}\n", e.as_ref())));
    out.push('\n');
    out
}
