//! What templates depend on: variables, services and files, and the environment they see.

use std::fmt;

use crate::time::Time;
use crate::value::Value;

/// Something that a template reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependency {
    /// The items of a variable.
    Variable(VariableName),
    /// Whether a variable exists.
    VariableExists(VariableName),
    /// The variables whose path begins so.
    VariableList(VariableName),
    /// As [`Dependency::VariableList`]; an empty list counts as missing.
    VariableListSafe(VariableName),
    /// The instances of a service.
    Service {
        /// Its name, with `@namespace` if it names one.
        name: String,
        /// At most so many, chosen by a key.
        choose: Option<(i64, String)>,
    },
    /// The names of all services.
    Services,
    /// The contents of a file.
    File(String),
}

/// The path of a variable, with the namespace it names, if any.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableName {
    /// The path.
    pub path: String,
    /// The namespace; none: that of the job.
    pub namespace: Option<String>,
}

impl VariableName {
    /// Reads `path` or `path@namespace`; a region after a dot is cut off: each agent asks its own.
    pub fn parse(text: &str) -> VariableName {
        match text.split_once('@') {
            None => VariableName { path: text.into(), namespace: None },
            Some((path, rest)) => {
                let namespace = rest.split('.').next().unwrap_or_default();
                VariableName { path: path.into(), namespace: (!namespace.is_empty()).then(|| namespace.into()) }
            }
        }
    }
}

impl fmt::Display for VariableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        self.namespace.as_ref().map_or(Ok(()), |namespace| write!(f, "@{namespace}"))
    }
}

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dependency::Variable(name) => write!(f, "nomad.var.block({name})"),
            Dependency::VariableExists(name) => write!(f, "nomad.var.exists({name})"),
            Dependency::VariableList(name) | Dependency::VariableListSafe(name) => write!(f, "nomad.var.list({name})"),
            Dependency::Service { name, choose: None } => write!(f, "nomad.service({name})"),
            Dependency::Service { name, choose: Some((count, _)) } => write!(f, "nomad.service({name}:{count})"),
            Dependency::Services => f.write_str("nomad.services"),
            Dependency::File(path) => write!(f, "file({path})"),
        }
    }
}

/// The answer of a source.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It is there.
    Ready(Value),
    /// It is not there yet.
    Missing,
    /// It can never be read; the reason becomes the error of the template.
    Failed(String),
}

/// Where a template reads from.
pub trait Source {
    /// Reads a dependency.
    fn read(&self, dependency: &Dependency) -> Answer;

    /// A variable of the environment.
    fn env(&self, name: &str) -> Option<String>;

    /// The current time.
    fn now(&self) -> Time;

    /// An address of the host, by an expression such as `GetPrivateIP`.
    ///
    /// # Errors
    /// Why there is none.
    fn address(&self, expression: &str) -> Result<String, AddressError>;
}

/// Nothing to read from: for templates over a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSource;

impl Source for NoSource {
    fn read(&self, _: &Dependency) -> Answer {
        Answer::Missing
    }

    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn now(&self) -> Time {
        Time::from_unix_nanos(0)
    }

    fn address(&self, _: &str) -> Result<String, AddressError> {
        Err(AddressError::Expression)
    }
}

/// Why the host has no address for an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The expression is unknown.
    #[error("sockaddr knows GetPrivateIP, GetPublicIP and GetInterfaceIP \"<name>\"")]
    Expression,
    /// The operating system does not list the addresses.
    #[error("the addresses of the host are not known: {0}")]
    Unknown(String),
}
