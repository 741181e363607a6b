//! Examples of commands about jobs and scaling policies.

use super::{Example, Examples};

pub(super) const EXAMPLES: Examples = &[
    (
        "job plan",
        &[
            Example::new("Plan a job on the running cluster", "encamp job plan web.nomad.hcl"),
            Example::new(
                "Plan a job without a cluster, on the state in a snapshot",
                "encamp job plan -snapshot fixtures/preemption/cluster.json \\
    fixtures/preemption/webapp.hcl",
            ),
            Example::new(
                "Explain the placements of a job with another value of a variable",
                "encamp job plan -explain -var version=1.1 web.nomad.hcl",
            ),
            Example::new(
                "Write the plan to a file, for review and registration",
                "encamp job plan -out plan.encamp web.nomad.hcl",
            ),
            Example::new(
                "Fail a pipeline if allocations cannot be placed or others are evicted",
                "encamp job plan -fail-on unplaced,evict web.nomad.hcl",
            ),
        ],
    ),
    (
        "job run",
        &[
            Example::new("Register a job and monitor its deployment", "encamp job run web.nomad.hcl"),
            Example::new(
                "Register a job without waiting, with a value for a variable",
                "encamp job run -detach -var version=1.1 web.nomad.hcl",
            ),
            Example::new("Print a job file as the JSON of the API", "encamp job run -output web.nomad.hcl"),
            Example::new(
                "Register a plan, also if allocations would be placed on other nodes",
                "encamp job plan -out plan.encamp web.nomad.hcl;
    encamp job run -detach -allow placement-moves plan.encamp",
            ),
        ],
    ),
    (
        "job validate",
        &[
            Example::new("Validate a job file with the servers", "encamp job validate web.nomad.hcl"),
            Example::new(
                "Validate a job file with the namespaces and node pools of a snapshot",
                "encamp job validate -snapshot fixtures/demo/cluster.json \\
    fixtures/demo/registered/api.hcl",
            ),
            Example::new(
                "Validate all job files of a directory",
                "encamp job validate -snapshot fixtures/demo/cluster.json \\
    fixtures/demo/registered",
            ),
        ],
    ),
    (
        "job status",
        &[
            Example::new("List the jobs", "encamp job status"),
            Example::new("Show a job with its evaluations", "encamp job status -evals web"),
            Example::new("Print a job as JSON", "encamp job status -json web"),
        ],
    ),
    (
        "job allocs",
        &[
            Example::new("List the allocations of a job", "encamp job allocs web"),
            Example::new(
                "Print the IDs of the allocations of a job",
                "encamp job allocs -t '{{range .}}{{println .ID}}{{end}}' web",
            ),
        ],
    ),
    (
        "job deployments",
        &[
            Example::new("List the deployments of a job", "encamp job deployments web"),
            Example::new("Show the latest deployment of a job", "encamp job deployments -latest web"),
        ],
    ),
    (
        "job inspect",
        &[
            Example::new("Print a job as JSON", "encamp job inspect web"),
            Example::new("Print the job file that was submitted", "encamp job inspect -hcl web"),
            Example::new(
                "Print a job of a snapshot as a job file",
                "encamp job inspect -hcl \\
    -snapshot fixtures/demo/cluster.json api",
            ),
        ],
    ),
    (
        "job eval",
        &[
            Example::new("Create an evaluation of a job and monitor it", "encamp job eval web"),
            Example::new(
                "Reschedule the failed allocations of a job now",
                "encamp job eval -force-reschedule -detach web",
            ),
        ],
    ),
    (
        "job scale",
        &[
            Example::new("Set the count of the only task group of a job", "encamp job scale web 3"),
            Example::new("Set the count of a task group without waiting", "encamp job scale -detach web front 2"),
        ],
    ),
    (
        "job scaling-events",
        &[
            Example::new("List the scaling events of a job", "encamp job scaling-events web"),
            Example::new("List them with their messages and evaluations", "encamp job scaling-events -verbose web"),
        ],
    ),
    (
        "job history",
        &[
            Example::new("List the versions of a job", "encamp job history web"),
            Example::new("Show the differences between the versions", "encamp job history -p web"),
        ],
    ),
    (
        "job tag apply",
        &[
            Example::new("Tag the latest version of a job", "encamp job tag apply -name stable web"),
            Example::new(
                "Tag an earlier version, with a description",
                "encamp job tag apply -name first -version 0 \\
    -description \"First release\" web",
            ),
        ],
    ),
    (
        "job revert",
        &[
            Example::new("Revert a job to version 0", "encamp job revert web 0"),
            Example::new("Revert a job to a tagged version without waiting", "encamp job revert -detach web stable"),
        ],
    ),
    (
        "job tag unset",
        &[
            Example::new("Remove a tag from a job", "encamp job tag unset -name stable web"),
            Example::new(
                "Remove a tag from a job of another namespace",
                "encamp job tag unset -namespace prod -name first shop",
            ),
        ],
    ),
    (
        "job promote",
        &[
            Example::new("Promote the canaries of a job", "encamp job promote api"),
            Example::new(
                "Promote only the canaries of one task group, without waiting",
                "encamp job promote -group api -detach api",
            ),
        ],
    ),
    (
        "job restart",
        &[
            Example::new(
                "Restart the tasks of a job, one allocation after the other",
                "encamp job restart -on-error fail web",
            ),
            Example::new(
                "Replace all allocations of a task group, half of them at a time",
                "encamp job restart -yes -on-error fail -reschedule -batch-size 50% \\
    -group front web",
            ),
        ],
    ),
    (
        "job dispatch",
        &[
            Example::new(
                "Dispatch a parameterized job with metadata",
                "encamp job dispatch -meta month=2026-11 report",
            ),
            Example::new(
                "Dispatch it with a file as payload, without waiting",
                "encamp job dispatch -detach -meta month=2026-11 report input.csv",
            ),
        ],
    ),
    (
        "job periodic force",
        &[
            Example::new("Launch a periodic job now", "encamp job periodic force backup"),
            Example::new("Launch it without monitoring the evaluation", "encamp job periodic force -detach backup"),
        ],
    ),
    (
        "job action",
        &[
            Example::new(
                "Run an action of a job in one of its allocations",
                "encamp job action -job web -group front -task server reload",
            ),
            Example::new(
                "Run it in a certain allocation",
                "encamp job action -job web -alloc 8ba85cef -task server reload",
            ),
        ],
    ),
    (
        "job stop",
        &[
            Example::new("Stop a job", "encamp job stop web"),
            Example::new(
                "Stop a job and purge it from the state of the servers",
                "encamp job stop -purge -detach -yes web",
            ),
        ],
    ),
    (
        "job start",
        &[
            Example::new("Start a stopped job", "encamp job start web"),
            Example::new("Start it without monitoring the evaluation", "encamp job start -detach web"),
        ],
    ),
    (
        "scaling policy list",
        &[
            Example::new("List the scaling policies", "encamp scaling policy list"),
            Example::new("List those of one job as JSON", "encamp scaling policy list -job web -json"),
        ],
    ),
    (
        "scaling policy info",
        &[
            Example::new("Show a scaling policy", "encamp scaling policy info 4ae3b1c2"),
            Example::new(
                "Print the maximum count that a policy allows",
                "encamp scaling policy info -t '{{.Max}}' 4ae3b1c2",
            ),
        ],
    ),
    (
        "status",
        &[
            Example::new("List the jobs", "encamp status"),
            Example::new("Show the job with this ID", "encamp status web"),
            Example::new("Show the allocation, node or evaluation whose ID has this prefix", "encamp status 8ba85cef"),
        ],
    ),
];
