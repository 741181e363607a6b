//! Commands of the system, run to their ends.

use std::process::{Command, Stdio};

use crate::failure::{Failure, Outcome};

/// Runs a command, and gives its output.
///
/// # Errors
/// The command cannot be started, or fails.
pub(crate) fn run(words: &[&str]) -> Outcome<String> {
    let failed = |why: String| Failure::Command { command: words.join(" "), why };
    let (program, arguments) = words.split_first().ok_or_else(|| failed("no program".into()))?;
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|e| failed(e.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_string());
    }
    Err(failed(format!("{} {}", output.status, String::from_utf8_lossy(&output.stderr).trim())))
}
