//! Commands beside a task (`docs/spec/client.md §26.2`).

use std::collections::BTreeMap;

use tokio::sync::mpsc;

use super::docker::DaemonError;

/// A command to be run beside a task.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ExecRequest {
    /// Program and arguments.
    pub command: Vec<String>,
    /// The environment; may hold secrets.
    pub env: BTreeMap<String, String>,
    /// In a terminal.
    pub tty: bool,
}

/// A running command: its input and its output. Dropping it ends the command.
pub struct ExecSession {
    /// The input of the command.
    pub input: mpsc::Sender<ExecInput>,
    /// The output of the command; closed after [`ExecOutput::Exited`].
    pub output: mpsc::Receiver<ExecOutput>,
}

/// The input of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecInput {
    /// Bytes to read.
    Stdin(Vec<u8>),
    /// No more bytes.
    CloseStdin,
    /// Size of its terminal.
    Resize {
        /// Rows.
        height: u16,
        /// Columns.
        width: u16,
    },
}

/// The output of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecOutput {
    /// Bytes.
    Stdout(Vec<u8>),
    /// Bytes.
    Stderr(Vec<u8>),
    /// No more bytes.
    StdoutClosed,
    /// No more bytes.
    StderrClosed,
    /// It ended.
    Exited {
        /// Its code.
        code: i64,
        /// The signal that ended it, 0: none.
        signal: i64,
    },
}

/// Why a command beside a task did not start.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// There is no command.
    #[error("command is not present")]
    NoCommand,
    /// There is no terminal.
    #[error("failed to open a terminal: {0}")]
    Terminal(#[from] rustix::io::Errno),
    /// The descriptor of a terminal can't be copied.
    #[error(transparent)]
    Descriptor(std::io::Error),
    /// The program does not start.
    #[error("failed to run {program}: {source}")]
    Run {
        /// The program.
        program: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The task is simulated, and no command beside it is.
    #[error("mock_driver: no exec_command is configured")]
    NotSimulated,
    /// The daemon that holds the task did not do it.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
}
