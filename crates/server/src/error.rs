//! Errors of the server's calls, as returned to clients (`docs/spec/http-api.md §3`).

use std::fmt::Display;

use crate::evals::broker::BrokerError;
use crate::jobs::dispatch::DispatchError;
use crate::jobs::periodic::PeriodicError;
use crate::nodes::heartbeat::{NOT_LEADER, NotLeader};
use crate::pipeline::error::PipelineError;
use crate::pipeline::plan_queue::{DISABLED, PlanQueueDisabled};
use encamp_model::outcome::NO_LEADER;
use encamp_ops::Refusal;
use encamp_ops::codec::CodecError;
use encamp_raft::{MembershipError, ProposeError};

/// The text of [`ErrorKind::PermissionDenied`].
const PERMISSION_DENIED: &str = "Permission denied";
/// The text of [`ErrorKind::NodeNotFound`].
const NODE_NOT_FOUND: &str = "node not found";
/// The text of [`ErrorKind::SecretMismatch`].
const SECRET_MISMATCH: &str = "node secret ID does not match. Not registering node.";
/// The text of [`ErrorKind::NotLocked`].
const NOT_LOCKED: &str = "variable doesn't hold a lock";

/// What callers tell errors apart by. The HTTP status follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request is malformed.
    BadRequest,
    /// The caller's credentials do not permit the request.
    PermissionDenied,
    /// The request is forbidden for another reason.
    Forbidden,
    /// The requested object does not exist. Many writes report this as [`ErrorKind::Internal`] instead
    /// (`docs/spec/http-api.md §3` step 4).
    NotFound,
    /// The request arrived too slowly.
    RequestTimeout,
    /// The caller does not hold the lock of a variable any more.
    Conflict,
    /// The message is too long.
    TooLong,
    /// The caller makes too many requests.
    TooManyRequests,
    /// The server cannot take more requests at the moment.
    Busy,
    /// The cluster has no leader, or the leader cannot be reached: nothing was done.
    NoLeader,
    /// The server stopped leading while it handled the report of a node.
    NotLeader,
    /// The server does not lead, or does not apply plans yet: the plan was not applied.
    PlanQueueDisabled,
    /// The node does not exist, or does not exist any more.
    NodeNotFound,
    /// The secret is not the one that the node registered with.
    SecretMismatch,
    /// The variable has no lock.
    NotLocked,
    /// The stored job does not have the JobModifyIndex of the request.
    ModifyIndex,
    /// Any other reason, with the status that Nomad uses for most refused writes.
    Internal,
}

impl ErrorKind {
    /// The HTTP status (`docs/spec/http-api.md §3`).
    pub fn status(self) -> u16 {
        match self {
            ErrorKind::BadRequest => 400,
            ErrorKind::PermissionDenied | ErrorKind::Forbidden => 403,
            ErrorKind::NotFound => 404,
            ErrorKind::RequestTimeout => 408,
            ErrorKind::Conflict => 409,
            ErrorKind::TooLong => 413,
            ErrorKind::TooManyRequests => 429,
            ErrorKind::Busy => 503,
            ErrorKind::NoLeader
            | ErrorKind::NotLeader
            | ErrorKind::PlanQueueDisabled
            | ErrorKind::NodeNotFound
            | ErrorKind::SecretMismatch
            | ErrorKind::NotLocked
            | ErrorKind::ModifyIndex
            | ErrorKind::Internal => 500,
        }
    }
}

/// A refused or failed call: clients check its status and text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What callers decide by.
    pub kind: ErrorKind,
    /// The text, without an additional trailing newline.
    pub message: String,
}

impl Error {
    /// An error of any kind.
    pub fn new(kind: ErrorKind, message: impl Display) -> Error {
        Error { kind, message: message.to_string() }
    }

    /// The request is malformed.
    pub fn bad(message: impl Display) -> Error {
        Error::new(ErrorKind::BadRequest, message)
    }

    /// The caller's credentials do not permit the request.
    pub fn permission_denied() -> Error {
        Error::new(ErrorKind::PermissionDenied, PERMISSION_DENIED)
    }

    /// The request is forbidden.
    pub fn denied(message: impl Display) -> Error {
        Error::new(ErrorKind::Forbidden, message)
    }

    /// The requested object does not exist.
    pub fn not_found(message: impl Display) -> Error {
        Error::new(ErrorKind::NotFound, message)
    }

    /// Any other error, with the status that Nomad uses for most refused writes.
    pub fn internal(message: impl Display) -> Error {
        Error::new(ErrorKind::Internal, message)
    }

    /// There is no leader.
    pub fn no_leader() -> Error {
        Error::new(ErrorKind::NoLeader, NO_LEADER)
    }

    /// The node of a write does not exist.
    pub(crate) fn node_not_found() -> Error {
        Error::new(ErrorKind::NodeNotFound, NODE_NOT_FOUND)
    }

    /// The secret is not the one that the node registered with.
    pub(crate) fn secret_mismatch() -> Error {
        Error::new(ErrorKind::SecretMismatch, SECRET_MISMATCH)
    }

    /// The variable has no lock.
    pub(crate) fn not_locked() -> Error {
        Error::new(ErrorKind::NotLocked, NOT_LOCKED)
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.kind.status()
    }

    /// The error in the answer of another server, or of another part of the agent, from its status and text. Answers
    /// consist of these two only, and servers of other versions send the same ones. So this is the only place where a
    /// kind is derived from a text: the whole text, as the constructors above and the errors of queues and timers have
    /// it. The kinds [`ErrorKind::NotLocked`] and [`ErrorKind::ModifyIndex`] do not occur in such answers.
    pub fn received(status: u16, message: impl Into<String>) -> Error {
        let message = message.into();
        let kind = match (status, message.as_str()) {
            (400, _) => ErrorKind::BadRequest,
            (403, PERMISSION_DENIED) => ErrorKind::PermissionDenied,
            (403, _) => ErrorKind::Forbidden,
            (404, _) => ErrorKind::NotFound,
            (408, _) => ErrorKind::RequestTimeout,
            (409, _) => ErrorKind::Conflict,
            (413, _) => ErrorKind::TooLong,
            (429, _) => ErrorKind::TooManyRequests,
            (503, _) => ErrorKind::Busy,
            (_, NO_LEADER) => ErrorKind::NoLeader,
            (_, NODE_NOT_FOUND) => ErrorKind::NodeNotFound,
            (_, SECRET_MISMATCH) => ErrorKind::SecretMismatch,
            (_, NOT_LEADER) => ErrorKind::NotLeader,
            (_, DISABLED) => ErrorKind::PlanQueueDisabled,
            (_, _) => ErrorKind::Internal,
        };
        Error { kind, message }
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

impl From<Refusal> for Error {
    fn from(e: Refusal) -> Error {
        let kind = match e {
            Refusal::NodeNotFound => ErrorKind::NodeNotFound,
            Refusal::ModifyIndex(_) => ErrorKind::ModifyIndex,
            // Callers show the text.
            _ => ErrorKind::Internal,
        };
        Error::new(kind, e.to_string())
    }
}

impl From<NotLeader> for Error {
    fn from(_: NotLeader) -> Error {
        Error::new(ErrorKind::NotLeader, NOT_LEADER)
    }
}

impl From<PlanQueueDisabled> for Error {
    fn from(_: PlanQueueDisabled) -> Error {
        Error::new(ErrorKind::PlanQueueDisabled, DISABLED)
    }
}

impl From<BrokerError> for Error {
    fn from(e: BrokerError) -> Error {
        Error::internal(e.to_string())
    }
}

impl From<DispatchError> for Error {
    fn from(e: DispatchError) -> Error {
        Error::internal(e.to_string())
    }
}

impl From<PeriodicError> for Error {
    fn from(e: PeriodicError) -> Error {
        Error::internal(e.to_string())
    }
}

impl From<MembershipError> for Error {
    fn from(e: MembershipError) -> Error {
        Error::internal(e.to_string())
    }
}

impl From<CodecError> for Error {
    fn from(e: CodecError) -> Error {
        Error::internal(e.to_string())
    }
}

impl From<PipelineError> for Error {
    fn from(e: PipelineError) -> Error {
        match e {
            PipelineError::Call(e) => e,
            PipelineError::Refused(e) => e.into(),
            PipelineError::QueueDisabled(e) => e.into(),
            PipelineError::Broker(e) => e.into(),
            PipelineError::Late { .. }
            | PipelineError::JobVersionGone { .. }
            | PipelineError::EvalExists
            | PipelineError::EvalGone
            | PipelineError::EvalNotBlocked
            | PipelineError::Flushed
            | PipelineError::Dropped
            | PipelineError::Stopping
            | PipelineError::NoResult
            | PipelineError::UnknownCoreJob(_)
            | PipelineError::Scheduler(_)
            | PipelineError::Panicked => Error::internal(e.to_string()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_survive_the_way_to_another_server() {
        let queue = PipelineError::from(PlanQueueDisabled);
        for error in [
            Error::permission_denied(),
            Error::denied("server 1 is not a member of this cluster"),
            Error::bad("a message can't be read"),
            Error::not_found("variable doesn't exist"),
            Error::new(ErrorKind::TooManyRequests, "too many new nodes"),
            Error::no_leader(),
            Error::node_not_found(),
            Error::secret_mismatch(),
            Error::from(Refusal::NodeNotFound),
            Error::from(NotLeader),
            Error::from(queue),
            Error::from(PipelineError::Call(Error::no_leader())),
            Error::internal("plan queue flushed"),
        ] {
            assert_eq!(Error::received(error.status(), error.message.as_str()), error);
        }
        // Only whole texts count: parts of them may be names that users gave.
        for text in ["no such volume: Permission denied", "rpc error: No cluster leader", "node not found!"] {
            assert_eq!(Error::received(500, text), Error::internal(text));
        }
    }
}
