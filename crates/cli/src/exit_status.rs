//! The exit statuses of commands, for help texts and manual pages (`docs/spec/cli.md §2.1`).

/// An exit status and when a command exits with it.
pub type ExitStatus = (u8, &'static str);

/// The exit statuses of most commands.
pub(crate) const SUCCESS_OR_ERROR: &[ExitStatus] = &[(0, "The command succeeded."), (1, "An error occurred.")];

/// The exit statuses of commands that monitor an evaluation and its deployment (`docs/spec/cli.md §6.1`).
pub(crate) const MONITORED: &[ExitStatus] = &[
    (0, "The evaluation completed and all allocations were placed, or -detach was given."),
    (1, "An error occurred, or the deployment was not successful."),
    (2, "Allocations are unplaced, and no deployment waits for them."),
];

/// The exit statuses of the load simulations.
#[cfg(feature = "agent")]
pub(crate) const SIMULATION: &[ExitStatus] = &[
    (0, "Every step reached the state that the scenario expects."),
    (1, "An error occurred, or a step did not reach that state in time."),
    (130, "SIGINT stopped the scenario. Its servers and their data are removed."),
];

/// The exit statuses of commands that follow an output until they are interrupted.
pub(crate) const FOLLOWING: &[ExitStatus] =
    &[(0, "The output ended."), (1, "An error occurred."), (130, "SIGINT stopped the command.")];
