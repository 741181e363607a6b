//! Errors of the server's calls, as returned to clients (`docs/spec/http-api.md §3`).

use std::fmt::Display;

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
/// The text of [`ErrorKind::NodeRevoked`].
const NODE_REVOKED: &str = "node identity was revoked: a new introduction token is needed";
/// The text of [`ErrorKind::NotLocked`].
const NOT_LOCKED: &str = "variable doesn't hold a lock";

/// The kinds of errors: one table of names, codes and statuses.
macro_rules! error_kinds {
    ($($(#[$doc:meta])* $kind:ident = $code:literal, $status:literal;)*) => {
        /// What callers tell errors apart by. The HTTP status follows from it (`docs/spec/http-api.md §3`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ErrorKind {
            $($(#[$doc])* $kind,)*
        }

        impl ErrorKind {
            /// All kinds.
            pub const ALL: &[ErrorKind] = &[$(ErrorKind::$kind),*];

            /// Its name in answers between agents.
            pub fn code(self) -> &'static str {
                match self {
                    $(ErrorKind::$kind => $code,)*
                }
            }

            /// The HTTP status.
            pub fn status(self) -> u16 {
                match self {
                    $(ErrorKind::$kind => $status,)*
                }
            }
        }
    };
}

error_kinds! {
    /// The request is malformed.
    BadRequest = "bad-request", 400;
    /// The caller's credentials do not permit the request.
    PermissionDenied = "permission-denied", 403;
    /// The request is forbidden for another reason.
    Forbidden = "forbidden", 403;
    /// The requested object does not exist. Many writes report this as [`ErrorKind::Internal`] instead
    /// (`docs/spec/http-api.md §3` step 4).
    NotFound = "not-found", 404;
    /// The request arrived too slowly.
    RequestTimeout = "request-timeout", 408;
    /// The caller does not hold the lock of a variable any more.
    Conflict = "conflict", 409;
    /// The message is too long.
    TooLong = "too-long", 413;
    /// The caller makes too many requests.
    TooManyRequests = "too-many-requests", 429;
    /// The server cannot take more requests at the moment.
    Busy = "busy", 503;
    /// The cluster has no leader, or the leader cannot be reached: nothing was done.
    NoLeader = "no-leader", 500;
    /// The server stopped leading while it handled the report of a node.
    NotLeader = "not-leader", 500;
    /// The server does not lead, or does not apply plans yet: the plan was not applied.
    PlanQueueDisabled = "plan-queue-disabled", 500;
    /// The node does not exist, or does not exist any more.
    NodeNotFound = "node-not-found", 500;
    /// The secret is not the one that the node registered with.
    SecretMismatch = "secret-mismatch", 500;
    /// The identity of the node was revoked, and it has no introduction token of after that.
    NodeRevoked = "node-revoked", 403;
    /// The variable has no lock.
    NotLocked = "not-locked", 500;
    /// A CSI volume or its plugin can't be had at the moment: the same request may succeed later.
    NotYet = "not-yet", 500;
    /// The stored job does not have the JobModifyIndex of the request.
    ModifyIndex = "modify-index", 500;
    /// Any other reason, with the status that Nomad uses for most refused writes.
    Internal = "internal", 500;
}

impl ErrorKind {
    /// The kind with a code; `None` for a code that only other versions of the program know.
    pub fn of_code(code: &str) -> Option<ErrorKind> {
        Self::ALL.iter().copied().find(|kind| kind.code() == code)
    }

    /// The kind of an answer of which only the HTTP status is known.
    pub fn of_status(status: u16) -> ErrorKind {
        match status {
            400 => ErrorKind::BadRequest,
            403 => ErrorKind::Forbidden,
            404 => ErrorKind::NotFound,
            408 => ErrorKind::RequestTimeout,
            409 => ErrorKind::Conflict,
            413 => ErrorKind::TooLong,
            429 => ErrorKind::TooManyRequests,
            503 => ErrorKind::Busy,
            _ => ErrorKind::Internal,
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

    /// The identity of the node was revoked.
    pub(crate) fn node_revoked() -> Error {
        Error::new(ErrorKind::NodeRevoked, NODE_REVOKED)
    }

    /// The variable has no lock.
    pub(crate) fn not_locked() -> Error {
        Error::new(ErrorKind::NotLocked, NOT_LOCKED)
    }

    /// A CSI volume or its plugin can't be had at the moment.
    pub(crate) fn not_yet(message: impl Display) -> Error {
        Error::new(ErrorKind::NotYet, message)
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.kind.status()
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
    // All refusals are named, so that a new one needs a decision; a line for each would be pages.
    #[rustfmt::skip]
    fn from(e: Refusal) -> Error {
        let kind = match e {
            Refusal::Frozen => ErrorKind::Forbidden,
            Refusal::NodeNotFound => ErrorKind::NodeNotFound,
            Refusal::NodeRevoked => ErrorKind::NodeRevoked,
            Refusal::ModifyIndex(_) => ErrorKind::ModifyIndex,
            Refusal::CsiClaimExhausted { .. } | Refusal::CsiClaimReleasing { .. } => ErrorKind::NotYet,
            Refusal::OneTimeTokenGone => ErrorKind::PermissionDenied,
            Refusal::BootstrapDone { .. }
            | Refusal::SecretTaken
            | Refusal::TokenNotFound { .. }
            | Refusal::RoleNotFound { .. }
            | Refusal::RoleNameTaken { .. }
            | Refusal::PolicyNotFound { .. }
            | Refusal::AuthMethodNotFound { .. }
            | Refusal::DefaultMethodTaken { .. }
            | Refusal::BindingRuleNotFound { .. } => ErrorKind::BadRequest,
            // Callers show the text.
            Refusal::PoolChange { .. } | Refusal::PoolDeletion { .. } | Refusal::PoolNotFound { .. }
            | Refusal::DefaultNamespace | Refusal::NamespaceNotFound | Refusal::NamespaceHasJobs { .. }
            | Refusal::NamespaceHasVariables { .. } | Refusal::ServiceNotFound | Refusal::DeploymentGone { .. }
            | Refusal::DeploymentEnded { .. } | Refusal::DeploymentNotFound | Refusal::PromotionTooLate { .. }
            | Refusal::UnhealthyCanaries(_) | Refusal::PromotionUndone | Refusal::UnknownAlloc { .. }
            | Refusal::AllocOfOtherDeployment { .. } | Refusal::JobNamespaceNotFound { .. }
            | Refusal::JobPoolNotFound { .. } | Refusal::JobNotFound | Refusal::JobVersionNotFound { .. }
            | Refusal::TagTaken { .. } | Refusal::TagNotFound { .. } | Refusal::RekeyInactive
            | Refusal::KeyInUse | Refusal::KeyNotFound | Refusal::NodeDraining | Refusal::NotANodeChange
            | Refusal::AllocNotFound { .. } | Refusal::EvalNotFound { .. } | Refusal::AllocWithoutJob { .. }
            | Refusal::VolumeNamespaceNotFound { .. } | Refusal::VolumeExists { .. }
            | Refusal::VolumeNotFound { .. } | Refusal::VolumeClaimNotFound | Refusal::VolumeInUse { .. }
            | Refusal::CsiVolumeNamespaceNotFound { .. } | Refusal::CsiVolumeExists { .. }
            | Refusal::CsiVolumeNotFound { .. } | Refusal::CsiVolumeInUse { .. }
            | Refusal::CsiAllocEnded { .. } | Refusal::CsiCapability { .. } | Refusal::CsiClaimUnknown
            | Refusal::CsiPluginNotFound { .. } | Refusal::CsiPluginInUse | Refusal::Snapshot(_) => ErrorKind::Internal,
        };
        Error::new(kind, e.to_string())
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
    fn every_kind_has_its_own_code_and_a_status() {
        for kind in ErrorKind::ALL {
            assert_eq!(ErrorKind::of_code(kind.code()), Some(*kind));
            assert_eq!(ErrorKind::of_status(kind.status()).status(), kind.status());
        }
        assert_eq!(ErrorKind::of_code("later"), None);
    }
}
