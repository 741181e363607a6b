//! The exit statuses of commands, for help texts and manual pages (`docs/spec/cli.md §2.1`).

/// An exit status and when a command exits with it.
pub type ExitStatus = (u8, &'static str);

/// The exit statuses of most commands.
const SUCCESS_OR_ERROR: &[ExitStatus] = &[(0, "The command succeeded."), (1, "An error occurred.")];

/// The exit statuses of commands that monitor an evaluation and its deployment (`docs/spec/cli.md §6.1`).
const MONITORED: &[ExitStatus] = &[
    (0, "The evaluation completed and all allocations were placed, or -detach was given."),
    (1, "An error occurred, or the deployment was not successful."),
    (2, "Allocations are unplaced, and no deployment waits for them."),
];

/// The exit statuses of the load simulations.
const SIMULATION: &[ExitStatus] = &[
    (0, "Every step reached the state that the scenario expects."),
    (1, "An error occurred, or a step did not reach that state in time."),
    (130, "SIGINT stopped the scenario. Its servers and their data are removed."),
];

/// The exit statuses of commands that follow an output until they are interrupted.
const FOLLOWING: &[ExitStatus] =
    &[(0, "The output ended."), (1, "An error occurred."), (130, "SIGINT stopped the command.")];

/// The exit statuses of a command, by its canonical name.
pub fn of(command: &str) -> &'static [ExitStatus] {
    match command {
        "acl explain" => &[
            (0, "The token may do it."),
            (1, "The token may not do it, or has expired."),
            (2, "An error occurred, or the usage was wrong."),
        ],
        "agent" => &[
            (0, "The agent left the cluster after a signal, as leave_on_interrupt and leave_on_terminate request."),
            (1, "An error occurred, or a signal stopped the agent without leaving."),
        ],
        "alloc fs" | "alloc logs" | "monitor" | "monitor export" => FOLLOWING,
        "alloc exec" | "job action" => &[
            (0, "The command in the task exited with status 0. Any other status of it is returned unchanged."),
            (1, "An error occurred before the command was started."),
        ],
        "autoscale agent" => &[(0, "A signal stopped the autoscaler."), (1, "An error occurred.")],
        "autoscale failsafe" => &[
            (0, "The mode was set, or the pool was already in that mode."),
            (1, "An error occurred, or the pool or group does not exist."),
        ],
        "autoscale plan" => &[
            (0, "No pool would be scaled."),
            (1, "An operation would start in at least one pool."),
            (255, "An error occurred."),
        ],
        "capacity" => &[
            (0, "At least one more copy of every group fits."),
            (1, "None fits for at least one group."),
            (255, "An error occurred."),
        ],
        "check" => &[(0, "The agent is healthy."), (2, "The agent is unhealthy or does not respond.")],
        "deployment fail" => &[
            (0, "With -detach: the deployment was marked as failed."),
            (1, "An error occurred, or the monitored deployment ended without success, as a failed one does."),
        ],
        "eval status" => &[
            (0, "The evaluation was printed. With -monitor: it completed, and all allocations were placed."),
            (1, "An error occurred. With -monitor: also if the deployment was not successful."),
            (2, "With -monitor: allocations are unplaced, and no deployment waits for them."),
        ],
        "fmt" => &[
            (0, "The files are in the standard format, or were rewritten."),
            (1, "An error occurred or, with -check, a file is not in the standard format."),
        ],
        "job convert" => &[
            (0, "The printed job file is the same job."),
            (1, "An error occurred."),
            (2, "HCL cannot express all of the job; a warning names the differences."),
        ],
        "job inspect" => &[
            (0, "The command succeeded."),
            (1, "An error occurred."),
            (2, "With -hcl: HCL cannot express all of the job; a warning names the differences."),
        ],
        "job run" => &[
            (0, "The evaluation completed and all allocations were placed, or -detach was given."),
            (1, "An error occurred, or the deployment was not successful."),
            (2, "Allocations are unplaced, and no deployment waits for them."),
            (3, "Nothing was registered: the outcome of the plan file is not the reviewed one any more."),
            (4, "Nothing was registered: the signature of the plan file is missing or wrong."),
        ],
        "job eval" | "job periodic force" | "job promote" | "job revert" | "job scale" | "job start" | "job stop"
        | "deployment promote" | "alloc stop" => MONITORED,
        "job plan" => &[
            (0, "The job is unchanged, even if allocations would be created, or its changes create and destroy none."),
            (1, "The job is new or changed, and allocations would be created or destroyed."),
            (2, "A condition of -fail-on holds."),
            (255, "An error occurred."),
        ],
        "plan show" => &[
            (0, "The plan file was printed."),
            (1, "An error occurred."),
            (4, "With -verify: the signature is missing or wrong."),
        ],
        "job validate" => &[(0, "The job is valid."), (1, "The job is invalid, or an error occurred.")],
        "sim c1m" | "sim churn" | "sim flap" | "sim gc" | "sim heartbeats" | "sim load-shedding" => SIMULATION,
        "sim cluster" => &[(0, "The file was written."), (1, "An error occurred. No file is left behind.")],
        "job diff" => &[(0, "The jobs are the same."), (1, "The jobs differ."), (255, "An error occurred.")],
        "snapshot diff" => {
            &[(0, "The snapshots are equal."), (1, "The snapshots differ."), (255, "An error occurred.")]
        }
        "var lock" => &[
            (0, "The command ran while it held the lock, and exited with status 0."),
            (1, "An error occurred, the lock was not acquired, or the command failed."),
        ],
        "what-if" => &[
            (0, "All affected allocations are placed in the end."),
            (1, "Some allocations are unplaced."),
            (255, "An error occurred."),
        ],
        _ => SUCCESS_OR_ERROR,
    }
}
