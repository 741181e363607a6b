//! The supervisor process of a task, which lets the task outlive the agent: it starts the task, writes its output to
//! log files, waits for its exit, kills the processes that the task left running, and records the exit.
//!
//! The agent starts it as `<program> task-supervisor` and sends an [`Order`](order::Order) on its standard input; the
//! first line on its standard output is a [`Report`](order::Report). Nothing of the task's environment is on a command
//! line or on disk.
//!
//! - [`order`]: what agent and supervisor say to each other. [`exit_file`]: how the task ended. [`process`]: the life of
//!   the supervisor. [`children`]: the processes that it starts.

pub(crate) mod children;
pub(crate) mod exit_file;
pub(crate) mod order;
mod process;

pub use self::process::main;
