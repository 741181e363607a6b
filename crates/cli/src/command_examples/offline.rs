//! Examples of commands that read and write files and contact no cluster.

use super::{Example, Examples};

pub(super) const EXAMPLES: Examples = &[
    (
        "context list",
        &[
            Example::new("List the saved clusters", "encamp context list"),
            Example::new("Print them as JSON", "encamp context list -json"),
        ],
    ),
    (
        "context use",
        &[
            Example::new("Use a saved cluster from now on", "encamp context use staging"),
            Example::new("Use none", "encamp context use -none"),
        ],
    ),
    (
        "context show",
        &[
            Example::new("Show which cluster commands use", "encamp context show"),
            Example::new("Show the name in the prompt of a shell", "PS1='$(encamp context show -short) \\$ '"),
        ],
    ),
    (
        "operator raft info",
        &[
            Example::new("Show the extent of the log of a stopped server", "encamp operator raft info data"),
            Example::new("Show that of a copy of its log", "encamp operator raft info copies/server-1/raft"),
        ],
    ),
    (
        "operator raft logs",
        &[
            Example::new("Print the log as lines of JSON", "encamp operator raft logs data"),
            Example::new("Print the log with indentation", "encamp operator raft logs -pretty data"),
        ],
    ),
    (
        "operator raft state",
        &[
            Example::new("Print the state of a stopped server", "encamp operator raft state data > state.json"),
            Example::new(
                "Print the state before the last ten entries of the log",
                "encamp operator raft state -last-index -10 data",
            ),
        ],
    ),
    (
        "operator client-state",
        &[
            Example::new("Print the stored state of a stopped node", "encamp operator client-state data/client"),
            Example::new("Write it to a file", "encamp operator client-state data/client > state.json"),
        ],
    ),
    (
        "autoscale plan",
        &[
            Example::new(
                "Show what the autoscaler would do to the worker pools of a snapshot",
                "encamp autoscale plan -snapshot fixtures/worker-pools/cluster.json",
            ),
            Example::new(
                "Print the plan of one pool as JSON",
                "encamp autoscale plan -json \\
    -snapshot fixtures/worker-pools/cluster.json web-workers",
            ),
        ],
    ),
    (
        "autoscale simulate",
        &[
            Example::new(
                "Simulate a day of load on the worker pool of a snapshot",
                "encamp autoscale simulate \\
    -snapshot fixtures/worker-pools/cluster.json \\
    -trace fixtures/worker-pools/day.csv",
            ),
            Example::new(
                "Simulate the same day with other settings, and draw the number of nodes",
                "encamp autoscale simulate \\
    -snapshot fixtures/worker-pools/cluster.json \\
    -trace fixtures/worker-pools/day.csv \\
    -fault-tolerance 2 -cooldown 120s -svg day.svg",
            ),
        ],
    ),
    (
        "capacity",
        &[
            Example::new(
                "Count how many more allocations of a job fit on the cluster of a snapshot",
                "encamp capacity -snapshot fixtures/demo/cluster.json \\
    fixtures/demo/registered/api.hcl",
            ),
            Example::new(
                "Count how many still fit after the worst loss of a datacenter",
                "encamp capacity -snapshot fixtures/demo/cluster.json \\
    -survive 1 dc fixtures/demo/registered/api.hcl",
            ),
            Example::new(
                "Count how many fit while a node is drained",
                "encamp capacity -snapshot fixtures/demo/cluster.json \\
    -drain dc1-general-01 fixtures/demo/registered/api.hcl",
            ),
        ],
    ),
    (
        "completion",
        &[
            Example::new("Enable completion in the current bash", "source <(encamp completion bash)"),
            Example::new("Write the completion script of fish to a file", "encamp completion fish > encamp.fish"),
        ],
    ),
    (
        "config validate",
        &[
            Example::new("Validate the configuration file of an agent", "encamp config validate server.hcl"),
            Example::new(
                "Validate several files, which the agent would merge",
                "encamp config validate server.hcl autoscaling.hcl",
            ),
        ],
    ),
    (
        "fmt",
        &[
            Example::new("Rewrite a job file in the standard format", "encamp fmt web.nomad.hcl"),
            Example::new(
                "List the files below a directory that are not in the standard format",
                "encamp fmt -check -recursive jobs",
            ),
            Example::new("Format a job file from standard input", "encamp fmt - < web.nomad.hcl"),
        ],
    ),
    (
        "job diff",
        &[
            Example::new(
                "Compare a job file with the registered job",
                "encamp job diff -snapshot fixtures/demo/cluster.json \\
    fixtures/demo/api-destructive.hcl",
            ),
            Example::new(
                "Compare two job files",
                "encamp job diff fixtures/demo/api-inplace.hcl \\
    fixtures/demo/api-destructive.hcl",
            ),
        ],
    ),
    (
        "job convert",
        &[
            Example::new("Convert a job from JSON to a job file", "encamp job convert web.json > converted.nomad.hcl"),
            Example::new(
                "Convert the JSON that another command prints",
                "encamp job run -output web.nomad.hcl | encamp job convert -",
            ),
        ],
    ),
    (
        "job init",
        &[
            Example::new("Create example.nomad.hcl, an example job file with comments", "encamp job init"),
            Example::new("Create an example job file without comments", "encamp job init -short api.nomad.hcl"),
            Example::new("List job files for common uses", "encamp job init -list-examples"),
            Example::new("Create one of them", "encamp job init -template=web-canary canary.nomad.hcl"),
            Example::new(
                "Write the job file of a job in a snapshot",
                "encamp job init -from web -snapshot fixtures/demo/cluster.json \\
    web-copy.nomad.hcl",
            ),
            Example::new(
                "Create cluster_scaling.hcl, the metadata of a worker pool",
                "encamp job init -cluster-scaling",
            ),
        ],
    ),
    (
        "volume init",
        &[
            Example::new("Create an example specification of a host volume", "encamp volume init -type host"),
            Example::new("Create an example of a CSI volume as JSON", "encamp volume init -json db.volume.json"),
        ],
    ),
    (
        "node pool init",
        &[
            Example::new("Create pool.nomad.hcl, an example specification with comments", "encamp node pool init"),
            Example::new(
                "Create an example specification as JSON, without comments",
                "encamp node pool init -out json -quiet gpu.nomad.json",
            ),
        ],
    ),
    ("options", &[Example::new("List the general options and their environment variables", "encamp options")]),
    (
        "sim cluster",
        &[
            Example::new("Write the snapshot of a synthetic cluster", "encamp sim cluster -out cluster.json"),
            Example::new(
                "Write a compressed snapshot of a larger cluster, from another seed",
                "encamp sim cluster -nodes 500 -allocs 5000 -seed 7 \\
    -out large.json.zst",
            ),
        ],
    ),
    (
        "snapshot anonymize",
        &[
            Example::new(
                "Anonymize a snapshot",
                "encamp snapshot anonymize fixtures/demo/cluster.json \\
    -out anonymous.json",
            ),
            Example::new(
                "Anonymize a snapshot, but keep the names of jobs and groups",
                "encamp snapshot anonymize fixtures/demo/cluster.json \\
    -keep-names jobs,groups -out shared.json.zst",
            ),
        ],
    ),
    (
        "snapshot diff",
        &[
            Example::new("Compare two snapshots", "encamp snapshot diff monday.json.zst tuesday.json.zst"),
            Example::new(
                "Print the differences as JSON",
                "encamp snapshot diff -json monday.json.zst tuesday.json.zst",
            ),
        ],
    ),
    (
        "plan show",
        &[
            Example::new("Show a plan that was written by job plan -out", "encamp plan show plan.encamp"),
            Example::new("Print a plan as JSON", "encamp plan show -json plan.encamp"),
        ],
    ),
    (
        "snapshot inspect",
        &[
            Example::new("Summarize a snapshot", "encamp snapshot inspect fixtures/demo/cluster.json"),
            Example::new("Print the summary as JSON", "encamp snapshot inspect -json fixtures/demo/cluster.json"),
        ],
    ),
    (
        "tls ca create",
        &[
            Example::new("Create the certificate authority of a cluster", "encamp tls ca create"),
            Example::new(
                "Create one that is valid for a year and only signs for two domains",
                "encamp tls ca create -days 365 -name-constraint \\
    -domain example.com -additional-domain nomad \\
    -common-name 'Example CA'",
            ),
        ],
    ),
    (
        "tls ca info",
        &[
            Example::new("Show the certificate of the authority", "encamp tls ca info nomad-agent-ca.pem"),
            Example::new("Show for which domains an authority signs", "encamp tls ca info example.com-agent-ca.pem"),
        ],
    ),
    (
        "tls cert create",
        &[
            Example::new(
                "Create a certificate for the servers of a region",
                "encamp tls cert create -server -region global",
            ),
            Example::new(
                "Create a certificate for a node that is also contacted by other names",
                "encamp tls cert create -client -region west \\
    -additional-dnsname node1.example.com \\
    -additional-ipaddress 10.0.0.21",
            ),
            Example::new("Create a certificate for an operator's commands", "encamp tls cert create -cli"),
        ],
    ),
    (
        "tls cert info",
        &[
            Example::new(
                "Show the names and the expiry date of a server's certificate",
                "encamp tls cert info global-server-nomad.pem",
            ),
            Example::new("Show those of an operator's certificate", "encamp tls cert info global-cli-nomad.pem"),
        ],
    ),
    (
        "var init",
        &[
            Example::new("Create spec.nv.hcl, an example specification with comments", "encamp var init"),
            Example::new(
                "Create an example specification as JSON, without comments",
                "encamp var init -out json -quiet web.nv.json",
            ),
        ],
    ),
    ("version", &[Example::new("Print the version", "encamp version")]),
    (
        "what-if",
        &[
            Example::new(
                "Show where the allocations of a node would go if it were drained",
                "encamp what-if -snapshot fixtures/demo/cluster.json \\
    -drain dc1-general-01",
            ),
            Example::new(
                "Show what would happen if a datacenter were lost",
                "encamp what-if -snapshot fixtures/demo/cluster.json -down dc=dc2",
            ),
            Example::new(
                "List every job that a lost datacenter affects",
                "encamp what-if -snapshot fixtures/demo/cluster.json -down dc=dc2 -all",
            ),
            Example::new(
                "Show whether two more nodes are enough for a larger count",
                "encamp what-if -snapshot fixtures/demo/cluster.json \\
    -add 2:like=dc1-gpu-10 -scale api/server=12",
            ),
        ],
    ),
    (
        "operator gossip keyring generate",
        &[Example::new("Print a key for server.encrypt", "encamp operator gossip keyring generate")],
    ),
];
