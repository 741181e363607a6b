//! What stands behind the pages.

use axum::body::Body;
use axum::http::{Request, Response};
use encamp_model::SecretString;
use futures_util::future::BoxFuture;

use crate::appearance::Appearance;

/// What the pages are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The cluster of the agent that serves the pages.
    Agent {
        /// The region of the agent.
        region: String,
        /// Whether the cluster checks tokens.
        acl: bool,
    },
    /// A running cluster that is reached over its API.
    Address(String),
    /// A snapshot file: nothing can be changed, and no task can be reached.
    File {
        /// The name of the file.
        name: String,
        /// When the state was read from its cluster, Unix nanoseconds; 0 if the file does not say.
        taken: i64,
    },
}

impl Source {
    /// Whether the source accepts changes, and has tasks that run.
    pub fn is_live(&self) -> bool {
        !matches!(self, Source::File { .. })
    }
}

/// The cluster did not answer a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreachable(pub String);

/// The output of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its exit code.
    pub code: i32,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// Why a command did not run to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoCommand {
    /// It could not be started.
    #[error("encamp could not start the command: {0}")]
    NotStarted(String),
    /// It did not end in time.
    #[error("the command did not end within {0} seconds")]
    Late(u64),
    /// Too many commands run already.
    #[error("too many commands are running; try again in a moment")]
    Busy,
    /// It asks a running cluster, and the pages show a file.
    #[error("`encamp {0}` asks a running cluster; it cannot answer from a file")]
    NeedsCluster(String),
    /// It wrote more than the pages can show.
    #[error("the command wrote more than {0} bytes")]
    Long(usize),
}

/// A cluster: its HTTP API, and the commands that answer questions about it.
pub trait Cluster: Send + Sync {
    /// What it is.
    fn source(&self) -> &Source;

    /// What its operator chose about the pages.
    fn appearance(&self) -> Option<&Appearance> {
        None
    }

    /// Sends a request to the HTTP API. The request has the path and the parameters of the API (`/v1/...`), and the
    /// header `X-Nomad-Token` if the person at the browser has a token. Its answer may be a stream, and may be the
    /// upgrade to a WebSocket that the request asks for.
    /// Its extensions are those of the browser's request.
    ///
    /// # Errors
    /// The cluster did not answer. Answers with an error status are answers.
    fn send(&self, request: Request<Body>) -> BoxFuture<'_, Result<Response<Body>, Unreachable>>;

    /// Runs an encamp command about this cluster, with a token: `arguments` begin with the command (`what-if`); the
    /// flags that name the cluster or the file are added. `input`: its standard input.
    ///
    /// # Errors
    /// The command did not run to its end. A command that ends with another exit code than 0 is no error.
    fn run(
        &self,
        token: SecretString,
        arguments: Vec<String>,
        input: Vec<u8>,
    ) -> BoxFuture<'_, Result<CommandOutput, NoCommand>>;
}
