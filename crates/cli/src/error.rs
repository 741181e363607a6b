//! The error of a command, as operators read it.

use std::error::Error;
use std::fmt;

use super::lookup::LookupError;
use super::object_kinds::Objects;
use encamp_api::{ApiError, TransportFailure};

/// Why a command failed: what is printed on standard error, and the exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandError {
    message: String,
    hint: Option<String>,
    exit_code: Option<u8>,
    /// Why the cluster did not do what was asked.
    request: Option<FailedRequest>,
    /// What a prefix matches several of.
    ambiguous: Option<Objects>,
}

/// Why a request to a cluster failed, where an operator can do something about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailedRequest {
    /// The request and its answer did not pass between the program and the agent at this address.
    Transport {
        /// The beginning of the URL.
        address: String,
        /// The kind of the failure.
        kind: TransportFailure,
    },
    /// The agent requires a user and a password, or does not accept them.
    Unauthenticated,
    /// Access control does not permit the request.
    Denied,
}

impl FailedRequest {
    /// The failed request behind an error.
    fn of(error: &(dyn Error + 'static)) -> Option<FailedRequest> {
        let mut next = Some(error);
        while let Some(e) = next {
            let api = e.downcast_ref::<ApiError>().or_else(|| e.downcast_ref::<Box<ApiError>>().map(|e| &**e));
            if let Some(api) = api {
                return FailedRequest::of_api(api);
            }
            next = e.source();
        }
        None
    }

    fn of_api(error: &ApiError) -> Option<FailedRequest> {
        match error {
            ApiError::Transport { kind: TransportFailure::Other, .. } => None,
            ApiError::Transport { url, kind, .. } => {
                let path = url.find("/v1/").unwrap_or(url.len());
                Some(FailedRequest::Transport { address: url.chars().take(path).collect(), kind: *kind })
            }
            ApiError::Status { status: 401, .. } => Some(FailedRequest::Unauthenticated),
            ApiError::Status { status: 403, .. } => Some(FailedRequest::Denied),
            ApiError::Unknown(last) => FailedRequest::of_api(last),
            ApiError::Config(_)
            | ApiError::Request(_)
            | ApiError::Status { .. }
            | ApiError::Answer { .. }
            | ApiError::NotWebSocket => None,
        }
    }
}

/// The result of a step of a command.
pub type CommandResult<T> = Result<T, CommandError>;

impl CommandError {
    /// An error with this message and the exit code that failures of the command have.
    pub fn new(message: impl fmt::Display) -> CommandError {
        CommandError { message: message.to_string(), hint: None, exit_code: None, request: None, ambiguous: None }
    }

    /// Adds a line that says what the operator can do, printed below the message.
    #[must_use]
    pub fn with_hint(self, hint: impl fmt::Display) -> CommandError {
        CommandError { hint: Some(hint.to_string()), ..self }
    }

    /// Sets the exit code, where it is not the one that failures of the command have.
    #[must_use]
    pub fn with_exit_code(self, code: u8) -> CommandError {
        CommandError { exit_code: Some(code), ..self }
    }

    /// Puts what the command was doing, and a colon, before the message.
    #[must_use]
    pub fn within(self, what: impl fmt::Display) -> CommandError {
        CommandError { message: format!("{what}: {}", self.message), ..self }
    }

    /// The message, without the hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The action that the operator can take, if there is more to say than the message.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Why the cluster did not do what was asked, if that is the reason.
    pub fn request(&self) -> Option<&FailedRequest> {
        self.request.as_ref()
    }

    /// The kind of the objects, if the reason is that a prefix matches several of one kind.
    pub fn ambiguous(&self) -> Option<Objects> {
        self.ambiguous
    }

    /// The exit code, if it is not the one that failures of the command have.
    pub fn exit_code(&self) -> Option<u8> {
        self.exit_code
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// An error of any other part of the program, with its text as the message. `CommandError` is itself no
/// [`Error`], so that `?` can do this for all of them.
impl<E: Error + 'static> From<E> for CommandError {
    fn from(error: E) -> CommandError {
        let request = FailedRequest::of(&error);
        let ambiguous = match (&error as &dyn Error).downcast_ref() {
            Some(LookupError::Ambiguous { objects, .. }) => *objects,
            _ => None,
        };
        CommandError { request, ambiguous, ..CommandError::new(error) }
    }
}

/// Adds to an error what the command was doing.
pub trait ErrorContext<T> {
    /// Puts `what` and a colon before the message of the error, as in `Error querying jobs: connection refused`. The
    /// hint and the exit code of the error stay.
    fn context(self, what: impl fmt::Display) -> CommandResult<T>;
}

impl<T, E: Into<CommandError>> ErrorContext<T> for Result<T, E> {
    fn context(self, what: impl fmt::Display) -> CommandResult<T> {
        self.map_err(|error| error.into().within(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_is_added_to_the_message_alone() {
        let error = CommandError::new("no").with_hint("try it again").with_exit_code(3);
        let got = Err::<(), _>(error).context("Error asking").unwrap_err();
        assert_eq!((got.message(), got.hint(), got.exit_code()), ("Error asking: no", Some("try it again"), Some(3)));
        let parsed = "x".parse::<u8>().context(format_args!("Error reading {}", 1)).unwrap_err();
        assert_eq!(parsed, CommandError::new("Error reading 1: invalid digit found in string"));
    }
}
