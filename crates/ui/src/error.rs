//! Why there is no page.

use axum::http::StatusCode;

use crate::cluster::{NoCommand, Unreachable};
use crate::session::Refused;

/// Why there is no page, or why an action was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// The cluster answered with an error.
    #[error("{text}")]
    Api {
        /// The status of the answer.
        status: StatusCode,
        /// Its text.
        text: String,
    },
    /// The cluster's answer is not what its API promises.
    #[error("The answer of the cluster to {path} can't be read: {problem}")]
    Answer {
        /// The path of the request.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The cluster did not answer.
    #[error("The cluster does not answer: {0}")]
    Unreachable(#[from] Unreachable),
    /// A command did not run to its end.
    #[error("{0}")]
    Command(#[from] NoCommand),
    /// The object does not exist.
    #[error("There is no {kind} {name}.")]
    Missing {
        /// What it would be.
        kind: &'static str,
        /// Its name or ID.
        name: String,
    },
    /// The form or the address has a value that cannot be used.
    #[error("{0}")]
    Input(String),
    /// The pages are about a file.
    #[error("These pages show a snapshot file: nothing can be changed or started.")]
    ReadOnly,
    /// The request was refused.
    #[error("{0}")]
    Refused(#[from] Refused),
}

impl PageError {
    /// The status of the response.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            PageError::Api { status, .. } => *status,
            PageError::Answer { .. } | PageError::Unreachable(_) => StatusCode::BAD_GATEWAY,
            PageError::Command(NoCommand::Busy) => StatusCode::SERVICE_UNAVAILABLE,
            PageError::Command(NoCommand::NeedsCluster(_)) => StatusCode::BAD_REQUEST,
            PageError::Command(_) => StatusCode::INTERNAL_SERVER_ERROR,
            PageError::Missing { .. } => StatusCode::NOT_FOUND,
            PageError::Input(_) => StatusCode::BAD_REQUEST,
            PageError::ReadOnly | PageError::Refused(_) => StatusCode::FORBIDDEN,
        }
    }

    /// Whether the cluster does not have the object.
    pub(crate) fn is_missing(&self) -> bool {
        self.status() == StatusCode::NOT_FOUND
    }

    /// Whether a token with more rights might help.
    pub(crate) fn is_denied(&self) -> bool {
        matches!(self, PageError::Api { status, .. } if *status == StatusCode::FORBIDDEN || *status == StatusCode::UNAUTHORIZED)
    }
}
