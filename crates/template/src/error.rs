//! Errors of templates. Their texts name values of the template's own text, never those of variables.

use std::fmt;
use std::ops::Range;

/// A place in a template: line and column, from 1 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a template cannot be rendered, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{place}: {failure}")]
pub struct Error {
    /// The name of the template.
    pub name: String,
    /// The place.
    pub place: Place,
    /// The bytes of the text whose execution failed; none if the text is no template.
    pub executed: Option<Range<usize>>,
    /// The reason.
    pub failure: Failure,
}

/// Why a template cannot be parsed, or one of its actions cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The text is no template.
    #[error("{0}")]
    Syntax(String),
    /// A function that does not exist.
    #[error("function {0:?} not defined")]
    UnknownFunction(String),
    /// A function that the agent's configuration forbids.
    #[error("function {0:?} is disabled by the configuration of the agent")]
    Denied(String),
    /// A function that needs a system that encamp does not have.
    #[error("function {function:?} needs {system}, which is not supported")]
    Unsupported {
        /// The function.
        function: String,
        /// The system.
        system: &'static str,
    },
    /// An action that cannot be executed.
    #[error("{0}")]
    Execution(String),
    /// A function refused its arguments.
    #[error("error calling {function}: {failure}")]
    Call {
        /// The function.
        function: String,
        /// The reason.
        failure: Box<Failure>,
    },
    /// A value of the wrong type.
    #[error("wrong type for value; expected {expected}; got {got}")]
    Type {
        /// The type it should have.
        expected: &'static str,
        /// The type it has.
        got: &'static str,
    },
    /// A template that would take too much.
    #[error("{0}")]
    Bound(Bound),
    /// The dependency could not be read, in the words of its source.
    #[error("{0}")]
    Source(String),
    /// What `break` and `continue` leave behind: the loops take it.
    #[error("loop control outside of a loop")]
    Loop(Leave),
}

/// How a loop is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// For good.
    Break,
    /// For the next round.
    Continue,
}

/// What a template may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Bound {
    /// The text became too long.
    #[error("the output is too large")]
    Output,
    /// Too many steps.
    #[error("the template takes too many steps")]
    Steps,
    /// The values became too large.
    #[error("the values of the template take too much memory")]
    Memory,
    /// Values, expressions or calls are nested too deep.
    #[error("values or calls of the template are nested too deep")]
    Depth,
    /// Too many dependencies.
    #[error("the template reads too many variables, services and files")]
    Dependencies,
}

impl Failure {
    /// An error of an action, with a text.
    pub(crate) fn new(text: impl Into<String>) -> Failure {
        Failure::Execution(text.into())
    }
}
