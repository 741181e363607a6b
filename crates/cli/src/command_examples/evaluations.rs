//! Examples of commands about evaluations and deployments.

use super::{Example, Examples};

pub(super) const EXAMPLES: Examples = &[
    (
        "eval list",
        &[
            Example::new("List the evaluations", "encamp eval list"),
            Example::new(
                "List the evaluations of a job that placed all allocations",
                "encamp eval list -job web -status complete",
            ),
        ],
    ),
    (
        "eval status",
        &[
            Example::new("Show an evaluation", "encamp eval status 2c3f8e0a"),
            Example::new("Monitor an evaluation until it completes", "encamp eval status -monitor 2c3f8e0a"),
        ],
    ),
    (
        "gc explain",
        &[
            Example::new("Explain what keeps an evaluation", "encamp gc explain 2c3f8e0a"),
            Example::new("Print the explanation as JSON", "encamp gc explain -json 2c3f8e0a"),
        ],
    ),
    (
        "eval explain",
        &[
            Example::new("Explain the placements of an evaluation", "encamp eval explain 2c3f8e0a"),
            Example::new("Print the explanation as JSON", "encamp eval explain -json 2c3f8e0a"),
        ],
    ),
    (
        "eval delete",
        &[
            Example::new(
                "Delete an evaluation, while the eval broker is paused",
                "encamp eval delete 2c3f8e0a-6b1d-4b6e-8f37-5d9e2c7a1b04",
            ),
            Example::new(
                "Delete all completed evaluations of a job without confirmation",
                "encamp eval delete -yes \\
    -filter 'JobID == \"web\" and Status == \"complete\"'",
            ),
        ],
    ),
    (
        "deployment list",
        &[
            Example::new("List the deployments", "encamp deployment list"),
            Example::new(
                "List the successful deployments as JSON",
                "encamp deployment list -json -filter 'Status == \"successful\"'",
            ),
        ],
    ),
    (
        "deployment status",
        &[
            Example::new("Show a deployment", "encamp deployment status 5456bd7a"),
            Example::new(
                "Print the status of each deployment",
                "encamp deployment status \\
    -t '{{range .}}{{.JobID}} {{.Status}} {{end}}'",
            ),
        ],
    ),
    (
        "deployment pause",
        &[
            Example::new("Pause a deployment", "encamp deployment pause 5456bd7a"),
            Example::new("Pause a deployment and print its full ID", "encamp deployment pause -verbose 5456bd7a"),
        ],
    ),
    (
        "deployment resume",
        &[
            Example::new("Resume a paused deployment without waiting", "encamp deployment resume -detach 5456bd7a"),
            Example::new("Resume it and print full IDs", "encamp deployment resume -detach -verbose 5456bd7a"),
        ],
    ),
    (
        "deployment promote",
        &[
            Example::new("Promote all canaries of a deployment", "encamp deployment promote 5456bd7a"),
            Example::new(
                "Promote the canaries of one task group without waiting",
                "encamp deployment promote -detach -group api 5456bd7a",
            ),
        ],
    ),
    (
        "deployment fail",
        &[
            Example::new("Fail a deployment", "encamp deployment fail -detach 5456bd7a"),
            Example::new("Fail a deployment and print full IDs", "encamp deployment fail -detach -verbose 5456bd7a"),
        ],
    ),
    (
        "deployment unblock",
        &[
            Example::new("Unblock a deployment", "encamp deployment unblock 5456bd7a"),
            Example::new("Unblock it without monitoring the evaluation", "encamp deployment unblock -detach 5456bd7a"),
        ],
    ),
];
