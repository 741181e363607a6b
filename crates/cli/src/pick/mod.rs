//! Choosing from a list on a terminal, where a command needs one object and got none or an ambiguous prefix
//! (`docs/spec/cli.md §4.9`).
//!
//! - [`argument`]: the object of a command. [`task`]: the task of an allocation. [`possible`]: whether anybody can choose.
//! - [`list`]: what is shown, filtered and marked. [`frame`]: its lines. [`screen`]: keys and drawing.
//! - [`questions`]: other questions, asked with dialoguer.

mod argument;
mod frame;
mod list;
mod possible;
pub(crate) mod questions;
mod screen;
mod task;

pub(crate) use argument::{Choice, Lack, argument};
pub(crate) use possible::possible;
pub(crate) use task::task;

/// How an operator leaves a question without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// By Esc or Ctrl-D, or the terminal is closed.
    Left,
    /// By Ctrl-C.
    Interrupted,
}

impl Cancelled {
    /// The exit code of the command.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Cancelled::Left => 1,
            Cancelled::Interrupted => 130,
        }
    }
}
