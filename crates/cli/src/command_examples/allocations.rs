//! Examples of commands about allocations and services.

use super::{Example, Examples};

pub(super) const EXAMPLES: Examples = &[
    (
        "alloc status",
        &[
            Example::new("Show an allocation", "encamp alloc status 8ba85cef"),
            Example::new("Show its resource usage as well", "encamp alloc status -stats 8ba85cef"),
            Example::new("Print the name of the node that runs it", "encamp alloc status -t '{{.NodeName}}' 8ba85cef"),
        ],
    ),
    (
        "alloc checks",
        &[
            Example::new("Show the health checks of an allocation", "encamp alloc checks 8ba85cef"),
            Example::new("Print them as JSON", "encamp alloc checks -json 8ba85cef"),
        ],
    ),
    (
        "alloc logs",
        &[
            Example::new("Print the output of a task", "encamp alloc logs 8ba85cef server"),
            Example::new("Follow standard error of an allocation of a job", "encamp alloc logs -f -stderr -job web"),
            Example::new("Print the last 20 lines", "encamp alloc logs -tail -n 20 8ba85cef"),
        ],
    ),
    (
        "alloc fs",
        &[
            Example::new("List the directory of an allocation", "encamp alloc fs 8ba85cef"),
            Example::new("Print a file", "encamp alloc fs 8ba85cef server/local/web.conf"),
            Example::new("Follow a log file", "encamp alloc fs -f -tail -n 20 8ba85cef alloc/logs/server.stdout.0"),
        ],
    ),
    (
        "alloc exec",
        &[
            Example::new(
                "Run a command in the only task of an allocation",
                "encamp alloc exec 8ba85cef cat local/web.conf",
            ),
            Example::new(
                "Run a shell command in a task of one of the allocations of a job",
                "encamp alloc exec -job -task server web sh -c 'env | sort'",
            ),
        ],
    ),
    (
        "alloc signal",
        &[
            Example::new("Send SIGUSR1 to a task", "encamp alloc signal -s SIGUSR1 8ba85cef server"),
            Example::new("Send SIGHUP to all tasks of an allocation", "encamp alloc signal -s SIGHUP 8ba85cef"),
        ],
    ),
    (
        "alloc restart",
        &[
            Example::new("Restart the running tasks of an allocation", "encamp alloc restart 8ba85cef"),
            Example::new("Restart one task", "encamp alloc restart -task server 8ba85cef"),
        ],
    ),
    (
        "alloc stop",
        &[
            Example::new("Stop an allocation, so that a replacement is placed", "encamp alloc stop 8ba85cef"),
            Example::new(
                "Stop it at once, and do not wait for the replacement",
                "encamp alloc stop -detach -no-shutdown-delay 8ba85cef",
            ),
        ],
    ),
    (
        "service list",
        &[
            Example::new("List the registered services", "encamp service list"),
            Example::new("List those of all namespaces", "encamp service list -namespace '*'"),
        ],
    ),
    (
        "service info",
        &[
            Example::new("Show the registrations of a service", "encamp service info web"),
            Example::new(
                "Print their addresses and ports",
                "encamp service info \\
    -t '{{range .}}{{.Address}}:{{.Port}} {{end}}' web",
            ),
        ],
    ),
    (
        "service delete",
        &[
            Example::new(
                "Delete a registration of a service",
                "encamp service delete web \\
    _nomad-task-8ba85cef-34de-4c2d-8a2d-7f6e6a2a5c31-group-front-web-http",
            ),
            Example::new(
                "Delete the first registration of a service",
                "encamp service delete web \\
    $(encamp service info -t '{{(index . 0).ID}}' web)",
            ),
        ],
    ),
];
