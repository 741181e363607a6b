//! Whether anybody can choose: a person at a terminal, who does not use the command as a part of a script.

use crate::context::Context;
use crate::terminal::Size;

/// The smallest terminal with a list: the question and a few rows.
const SMALLEST: Size = Size { width: 30, height: 5 };

/// Whether questions can be drawn on the terminal of the process: its standard input and standard error are a terminal
/// that takes escape sequences, and no CI system runs it.
pub(crate) fn possible(context: &Context<'_, '_>) -> bool {
    let env = context.env;
    let terminal = env.stdin_is_terminal && env.stderr_is_terminal && env.var("TERM").is_some();
    // A choice inside of a request would start a second runtime in the thread.
    let idle = tokio::runtime::Handle::try_current().is_err();
    let large = || Size::of_stderr().is_some_and(|s| s.width >= SMALLEST.width && s.height >= SMALLEST.height);
    terminal && env.escapes_welcome() && env.var("CI").is_none() && idle && large()
}
