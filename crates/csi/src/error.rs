//! Why a call failed, and when to try again.

use std::fmt;
use std::time::Duration;

/// Attempts of one call before [`retry`] gives up.
pub const ATTEMPTS: u32 = 6;
/// The wait after the first attempt; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Why a call failed, by what the caller can do about it (CSI specification, "Error Scheme").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The plugin can't be reached, or is not ready. The call did not begin.
    Unavailable,
    /// The connection broke during the call. The call may have succeeded.
    Interrupted,
    /// The deadline passed. The plugin may still work on the call.
    Timeout,
    /// The plugin works on another call for the same volume (`ABORTED`).
    InProgress,
    /// The volume, snapshot or node does not exist.
    NotFound,
    /// It exists, with other parameters than those of the call.
    AlreadyExists,
    /// The volume is used in a way that excludes the call, or a call that must come first is missing
    /// (`FAILED_PRECONDITION`).
    InUse,
    /// The provider or the node has no capacity left.
    ResourceExhausted,
    /// The plugin does not provide such a capacity, or such a page of a list.
    OutOfRange,
    /// The plugin rejects the arguments.
    InvalidArgument,
    /// The secrets are missing, wrong or insufficient.
    Denied,
    /// The plugin does not implement the call.
    Unimplemented,
    /// The answer breaks the protocol.
    ProtocolViolation,
    /// Another gRPC status code.
    Other(i32),
}

impl ErrorKind {
    /// Whether the same call may succeed at another time.
    pub fn may_succeed_later(self) -> bool {
        match self {
            ErrorKind::Unavailable
            | ErrorKind::Interrupted
            | ErrorKind::Timeout
            | ErrorKind::InProgress
            | ErrorKind::InUse
            | ErrorKind::ResourceExhausted
            | ErrorKind::Other(_) => true,
            ErrorKind::NotFound
            | ErrorKind::AlreadyExists
            | ErrorKind::OutOfRange
            | ErrorKind::InvalidArgument
            | ErrorKind::Denied
            | ErrorKind::Unimplemented
            | ErrorKind::ProtocolViolation => false,
        }
    }

    /// Whether the call may have taken effect, or may still do so. To undo it, its opposite must be called.
    pub fn outcome_unknown(self) -> bool {
        match self {
            ErrorKind::Interrupted
            | ErrorKind::Timeout
            | ErrorKind::InProgress
            | ErrorKind::ProtocolViolation
            | ErrorKind::Other(_) => true,
            ErrorKind::Unavailable
            | ErrorKind::NotFound
            | ErrorKind::AlreadyExists
            | ErrorKind::InUse
            | ErrorKind::ResourceExhausted
            | ErrorKind::OutOfRange
            | ErrorKind::InvalidArgument
            | ErrorKind::Denied
            | ErrorKind::Unimplemented => false,
        }
    }

    /// The kind of a gRPC status code.
    pub(crate) fn of(code: tonic::Code) -> ErrorKind {
        use tonic::Code;
        match code {
            Code::Unavailable => ErrorKind::Unavailable,
            Code::DeadlineExceeded => ErrorKind::Timeout,
            Code::Aborted => ErrorKind::InProgress,
            Code::NotFound => ErrorKind::NotFound,
            Code::AlreadyExists => ErrorKind::AlreadyExists,
            Code::FailedPrecondition => ErrorKind::InUse,
            Code::ResourceExhausted => ErrorKind::ResourceExhausted,
            Code::OutOfRange => ErrorKind::OutOfRange,
            Code::InvalidArgument => ErrorKind::InvalidArgument,
            Code::PermissionDenied | Code::Unauthenticated => ErrorKind::Denied,
            Code::Unimplemented => ErrorKind::Unimplemented,
            Code::Ok | Code::Cancelled | Code::Unknown | Code::Internal | Code::DataLoss => {
                ErrorKind::Other(i32::from(code))
            }
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::Unavailable => "plugin unavailable",
            ErrorKind::Interrupted => "connection to plugin lost",
            ErrorKind::Timeout => "deadline exceeded",
            ErrorKind::InProgress => "operation in progress",
            ErrorKind::NotFound => "not found",
            ErrorKind::AlreadyExists => "already exists with other parameters",
            ErrorKind::InUse => "precondition failed",
            ErrorKind::ResourceExhausted => "resource exhausted",
            ErrorKind::OutOfRange => "out of range",
            ErrorKind::InvalidArgument => "invalid argument",
            ErrorKind::Denied => "permission denied",
            ErrorKind::Unimplemented => "not implemented by plugin",
            ErrorKind::ProtocolViolation => "invalid answer of plugin",
            ErrorKind::Other(code) => return write!(f, "gRPC status {code}"),
        })
    }
}

/// A call of a plugin that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{call}: {kind}{}{message}", if message.is_empty() { "" } else { ": " })]
pub struct CallError {
    /// The call: `NodeStageVolume`.
    pub call: &'static str,
    /// What the caller can do.
    pub kind: ErrorKind,
    /// Details for a person: one line of at most 512 bytes, without the secrets of the call.
    pub message: String,
}

/// How long to wait before the call is made again; `None` if repeating it is of no use. Calls of the protocol are
/// idempotent, so they may be repeated whatever the first attempt did. `attempt`: attempts made, at least 1.
pub fn retry(error: &CallError, attempt: u32) -> Option<Duration> {
    if !error.kind.may_succeed_later() || attempt >= ATTEMPTS {
        return None;
    }
    let doublings = attempt.saturating_sub(1).min(16);
    Some((FIRST_WAIT * 2_u32.pow(doublings)).min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: ErrorKind) -> CallError {
        CallError { call: "Probe", kind, message: String::new() }
    }

    #[test]
    fn waits_double_up_to_a_bound_and_end() {
        let waits = |kind| Vec::from_iter((1..).map_while(|n| retry(&error(kind), n).map(|w| w.as_secs())));
        assert_eq!(waits(ErrorKind::Unavailable), [1, 2, 4, 8, 16]);
        assert_eq!(waits(ErrorKind::InProgress), [1, 2, 4, 8, 16]);
        assert_eq!(retry(&error(ErrorKind::Timeout), 0), Some(FIRST_WAIT));
        assert_eq!(retry(&error(ErrorKind::Timeout), u32::MAX), None);
        for kind in [ErrorKind::InvalidArgument, ErrorKind::NotFound, ErrorKind::ProtocolViolation, ErrorKind::Denied] {
            assert!(waits(kind).is_empty(), "{kind}");
        }
    }

    #[test]
    fn errors_name_the_call() {
        let e = CallError { message: "no such volume".into(), ..error(ErrorKind::NotFound) };
        assert_eq!(e.to_string(), "Probe: not found: no such volume");
        assert_eq!(error(ErrorKind::Other(13)).to_string(), "Probe: gRPC status 13");
    }
}
