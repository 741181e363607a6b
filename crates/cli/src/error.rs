//! The error of a command, as operators read it.

use std::error::Error;
use std::fmt;

/// Why a command failed: what is printed on standard error, and the exit code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandError {
    message: String,
    hint: Option<String>,
    exit_code: Option<u8>,
}

/// The result of a step of a command.
pub type CommandResult<T> = Result<T, CommandError>;

impl CommandError {
    /// An error with this message and the exit code that failures of the command have.
    pub fn new(message: impl fmt::Display) -> CommandError {
        CommandError { message: message.to_string(), hint: None, exit_code: None }
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
impl<E: Error> From<E> for CommandError {
    fn from(error: E) -> CommandError {
        CommandError::new(error)
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
