//! Examples of commands about namespaces, variables, servers and agents.

use super::{Example, Examples};

pub(super) const EXAMPLES: Examples = &[
    (
        "namespace apply",
        &[
            Example::new("Create or update a namespace", "encamp namespace apply -description \"Staging\" staging"),
            Example::new("Create a namespace from a specification", "encamp namespace apply prod.hcl"),
        ],
    ),
    (
        "namespace list",
        &[
            Example::new("List the namespaces", "encamp namespace list"),
            Example::new("Print their names", "encamp namespace list -t '{{range .}}{{.Name}} {{end}}'"),
        ],
    ),
    (
        "namespace status",
        &[
            Example::new("Show a namespace", "encamp namespace status prod"),
            Example::new("Print a namespace as JSON", "encamp namespace status -json prod"),
        ],
    ),
    (
        "namespace inspect",
        &[
            Example::new("Print a namespace as JSON", "encamp namespace inspect prod"),
            Example::new("Print its description", "encamp namespace inspect -t '{{.Description}}' prod"),
        ],
    ),
    (
        "namespace delete",
        &[
            Example::new("Delete a namespace", "encamp namespace delete staging"),
            Example::new(
                "Delete a namespace with the token of an administrator",
                "encamp namespace delete -token $ADMIN_TOKEN testing",
            ),
        ],
    ),
    (
        "var put",
        &[
            Example::new("Create a variable", "encamp var put nomad/jobs/web user=app password=s3cret"),
            Example::new(
                "Overwrite a variable with the values of a specification",
                "encamp var put -force @web.nv.hcl",
            ),
        ],
    ),
    (
        "var get",
        &[
            Example::new("Show a variable", "encamp var get nomad/jobs/web"),
            Example::new("Print one of its values", "encamp var get -item user nomad/jobs/web"),
        ],
    ),
    (
        "var list",
        &[
            Example::new("List the variables", "encamp var list"),
            Example::new("List the paths of the variables of jobs", "encamp var list -out terse nomad/jobs"),
        ],
    ),
    (
        "var lock",
        &[
            Example::new("Run a command while holding a lock", "encamp var lock locks/backup ./backup.sh"),
            Example::new(
                "Exit immediately if another client holds the lock",
                "encamp var lock -early-return locks/backup ./backup.sh",
            ),
        ],
    ),
    (
        "var purge",
        &[
            Example::new("Delete a variable", "encamp var purge nomad/jobs/web"),
            Example::new("Delete a variable of another namespace", "encamp var purge -namespace prod nomad/jobs/shop"),
        ],
    ),
    (
        "operator api",
        &[
            Example::new("Print the response to a request", "encamp operator api /v1/agent/self"),
            Example::new("Filter the response", "encamp operator api -filter 'Status == \"ready\"' /v1/nodes"),
            Example::new(
                "Send a request with a body",
                "echo '{\"Prefix\": \"web\", \"Context\": \"jobs\"}' |
    encamp operator api /v1/search",
            ),
        ],
    ),
    (
        "operator autopilot get-config",
        &[
            Example::new("Show the Autopilot configuration", "encamp operator autopilot get-config"),
            Example::new("Print it as JSON", "encamp operator autopilot get-config -json"),
        ],
    ),
    (
        "operator autopilot set-config",
        &[
            Example::new(
                "Do not remove failed servers automatically",
                "encamp operator autopilot set-config -cleanup-dead-servers=false",
            ),
            Example::new(
                "Tolerate servers that are slower to respond",
                "encamp operator autopilot set-config -last-contact-threshold=1s",
            ),
        ],
    ),
    (
        "operator autopilot health",
        &[
            Example::new("Show the health of the servers", "encamp operator autopilot health"),
            Example::new("Print it as JSON", "encamp operator autopilot health -json"),
        ],
    ),
    (
        "operator scheduler get-config",
        &[
            Example::new("Show the scheduler configuration", "encamp operator scheduler get-config"),
            Example::new(
                "Print the scheduler algorithm",
                "encamp operator scheduler get-config \\
    -t '{{.SchedulerConfig.SchedulerAlgorithm}}'",
            ),
        ],
    ),
    (
        "operator scheduler set-config",
        &[
            Example::new(
                "Spread allocations over the nodes",
                "encamp operator scheduler set-config -scheduler-algorithm=spread",
            ),
            Example::new(
                "Enable preemption for service jobs",
                "encamp operator scheduler set-config \\
    -preempt-service-scheduler=true",
            ),
        ],
    ),
    (
        "operator gossip keyring install",
        &[
            Example::new(
                "Install a key that gossip shall be encrypted with",
                "encamp operator gossip keyring install \\\n    c2VydmVycyB0ZWxsIGVhY2ggb3RoZXIgdGhlIG5ld3M=",
            ),
            Example::new("Install the key in a file", "encamp operator gossip keyring install - <gossip-key.txt"),
        ],
    ),
    (
        "operator gossip keyring use",
        &[
            Example::new(
                "Encrypt gossip with an installed key",
                "encamp operator gossip keyring use \\\n    c2VydmVycyB0ZWxsIGVhY2ggb3RoZXIgdGhlIG5ld3M=",
            ),
            Example::new(
                "Encrypt gossip with the installed key in a file",
                "encamp operator gossip keyring use - <gossip-key.txt",
            ),
        ],
    ),
    (
        "operator gossip keyring list",
        &[
            Example::new("List the installed keys", "encamp operator gossip keyring list"),
            Example::new("Show how many servers have each key", "encamp operator gossip keyring list -verbose"),
        ],
    ),
    (
        "operator gossip keyring remove",
        &[
            Example::new(
                "Remove a key that gossip is not encrypted with any more",
                "encamp operator gossip keyring remove \\\n    YSBrZXkgdGhhdCB3YXMgdXNlZCB1bnRpbCBub3cuLi4=",
            ),
            Example::new("Remove the key in a file", "encamp operator gossip keyring remove - <old-gossip-key.txt"),
        ],
    ),
    (
        "operator root keyring list",
        &[
            Example::new("List the root keys", "encamp operator root keyring list"),
            Example::new("List them with their full IDs", "encamp operator root keyring list -verbose"),
        ],
    ),
    (
        "operator root keyring rotate",
        &[
            Example::new("Create a new root key and use it immediately", "encamp operator root keyring rotate -now"),
            Example::new(
                "Create a key that becomes active in an hour",
                "encamp operator root keyring rotate -prepublish 1h",
            ),
        ],
    ),
    (
        "operator root keyring remove",
        &[
            Example::new("Remove an inactive root key", "encamp operator root keyring remove b0d8f3a6"),
            Example::new(
                "Remove a key even if variables are encrypted with it",
                "encamp operator root keyring remove -force b0d8f3a6",
            ),
        ],
    ),
    (
        "operator metrics",
        &[
            Example::new("Print the metrics of the contacted agent as JSON", "encamp operator metrics -pretty"),
            Example::new("Print them in the format of Prometheus", "encamp operator metrics -format prometheus"),
        ],
    ),
    (
        "system reconcile summaries",
        &[Example::new("Recompute the summaries of all jobs", "encamp system reconcile summaries")],
    ),
    (
        "system gc",
        &[
            Example::new("Collect all garbage now", "encamp system gc"),
            Example::new("Wait for the end, and print what was deleted", "encamp system gc -wait"),
            Example::new("Show what would be deleted and kept, and why", "encamp system gc -dry-run"),
            Example::new(
                "Show what the periodic runs would delete in four hours",
                "encamp system gc -dry-run -periodic -in 4h",
            ),
        ],
    ),
    (
        "agent-info",
        &[
            Example::new("Show the statistics of the contacted agent", "encamp agent-info"),
            Example::new("Print them as JSON", "encamp agent-info -json"),
        ],
    ),
    (
        "check",
        &[
            Example::new("Check the health of the contacted agent", "encamp check"),
            Example::new("Expect a server with at least two peers", "encamp check -min-peers 2"),
        ],
    ),
    (
        "monitor",
        &[
            Example::new("Stream the log of the contacted agent", "encamp monitor"),
            Example::new(
                "Stream the log of the leader, with debug messages",
                "encamp monitor -log-level debug -server-id leader",
            ),
        ],
    ),
    (
        "monitor export",
        &[
            Example::new("Print the log file of the contacted agent", "encamp monitor export -on-disk"),
            Example::new("Print the log file of a node", "encamp monitor export -on-disk -node-id f7476465"),
        ],
    ),
    (
        "ui",
        &[
            Example::new("Open the web UI in a browser", "encamp ui"),
            Example::new("Print the URL of a job", "encamp ui -show-url web"),
        ],
    ),
    (
        "server members",
        &[
            Example::new("List the servers", "encamp server members"),
            Example::new(
                "Print the name and the status of each server",
                "encamp server members \\
    -t '{{range .}}{{.Name}} {{.Status}} {{end}}'",
            ),
        ],
    ),
    (
        "server join",
        &[
            Example::new("Let the contacted server join another one", "encamp server join 10.0.0.12:4648"),
            Example::new("Let it join two servers", "encamp server join 10.0.0.12:4648 10.0.0.13:4648"),
        ],
    ),
    (
        "operator raft list-peers",
        &[
            Example::new("List the Raft peers", "encamp operator raft list-peers"),
            Example::new("List them although the servers have no leader", "encamp operator raft list-peers -stale"),
        ],
    ),
    (
        "operator raft transfer-leadership",
        &[
            Example::new(
                "Transfer leadership to a server",
                "encamp operator raft transfer-leadership \\
    -peer-id d9a4c7e1-52f0-4b3c-9a86-0e7b1c5d2f94",
            ),
            Example::new(
                "Select the server by its name",
                "encamp operator raft transfer-leadership -peer-id \\
    $(encamp operator raft list-peers | awk '/server-1/ {print $2}')",
            ),
        ],
    ),
    (
        "operator snapshot save",
        &[
            Example::new("Save the state of the servers", "encamp operator snapshot save backup.snap"),
            Example::new("Save it even if there is no leader", "encamp operator snapshot save -stale stale.snap"),
            Example::new("Save it without its secrets", "encamp operator snapshot save -redact shared.snap"),
        ],
    ),
    (
        "operator debug",
        &[
            Example::new(
                "Collect logs, metrics and lists for ten seconds",
                "encamp operator debug -duration 10s -interval 5s",
            ),
            Example::new(
                "Collect the log of the leader alone, into a directory",
                "encamp operator debug -duration 2s -interval 1s -server-id leader \\\n    -max-nodes 1 -output debug",
            ),
        ],
    ),
    (
        "operator snapshot inspect",
        &[
            Example::new("Show what an archive contains", "encamp operator snapshot inspect backup.snap"),
            Example::new("Print it as JSON", "encamp operator snapshot inspect -json backup.snap"),
        ],
    ),
    (
        "operator snapshot state",
        &[
            Example::new("Print all objects of an archive", "encamp operator snapshot state backup.snap"),
            Example::new(
                "Count the namespaces, pools and jobs with a name",
                "encamp operator snapshot state backup.snap | grep -c '\"Name\":'",
            ),
        ],
    ),
    (
        "operator snapshot redact",
        &[
            Example::new(
                "Remove the secrets from a copy of an archive",
                "cp backup.snap support.snap &&\n    encamp operator snapshot redact support.snap",
            ),
            Example::new(
                "Do it and show what the copy contains",
                "cp backup.snap copy.snap && encamp operator snapshot redact copy.snap &&\n    encamp operator snapshot inspect copy.snap",
            ),
        ],
    ),
    (
        "operator snapshot restore",
        &[
            Example::new(
                "Replace the state of the servers by a saved archive",
                "encamp operator snapshot restore backup.snap",
            ),
            Example::new(
                "Restore it with the token of an administrator",
                "encamp operator snapshot restore -token $ADMIN_TOKEN backup.snap",
            ),
        ],
    ),
    (
        "operator raft remove-peer",
        &[
            Example::new(
                "Remove a failed server",
                "encamp operator raft remove-peer \\
    -peer-id d9a4c7e1-52f0-4b3c-9a86-0e7b1c5d2f94",
            ),
            Example::new(
                "Select the server by its name",
                "encamp operator raft remove-peer -peer-id \\
    $(encamp operator raft list-peers | awk '/server-3/ {print $2}')",
            ),
        ],
    ),
    (
        "server force-leave",
        &[
            Example::new("Remove a failed server from the members", "encamp server force-leave server-3.global"),
            Example::new(
                "Remove a server completely, so that no list shows it",
                "encamp server force-leave -prune server-3.global",
            ),
        ],
    ),
    (
        "agent",
        &[
            Example::new("Run a server and a node in one process, for development", "encamp agent -dev"),
            Example::new("Run a server with a configuration file", "encamp agent -config server.hcl"),
            Example::new(
                "Run a node of a pool",
                "encamp agent -client -config client.hcl -node-pool gpu \\
    -servers 10.0.0.11:4647,10.0.0.12:4647",
            ),
        ],
    ),
    (
        "sim c1m",
        &[
            Example::new("Try the scenario with few nodes and allocations", "encamp sim c1m -nodes 20 -allocs 2500"),
            Example::new(
                "Place a million allocations with three servers, for a report",
                "encamp sim c1m -servers 3 -json",
            ),
        ],
    ),
    (
        "sim churn",
        &[
            Example::new("Try the scenario with few nodes and jobs", "encamp sim churn -nodes 20 -jobs 3 -rounds 1"),
            Example::new(
                "Run ten rounds with 1,000 nodes and three servers",
                "encamp sim churn -nodes 1000 -servers 3 -rounds 10",
            ),
        ],
    ),
    (
        "sim flap",
        &[
            Example::new("Try the scenario with few nodes and jobs", "encamp sim flap -nodes 20 -jobs 3"),
            Example::new("Disconnect half of 1,000 nodes", "encamp sim flap -nodes 1000 -percent 50"),
        ],
    ),
    (
        "sim gc",
        &[
            Example::new(
                "Try the scenario with few nodes and allocations",
                "encamp sim gc -nodes 20 -allocs 2500 -idle 2s",
            ),
            Example::new("Collect 800,000 of a million allocations, for a report", "encamp sim gc -json"),
        ],
    ),
    (
        "sim heartbeats",
        &[
            Example::new("Try the scenario with few nodes for some seconds", "encamp sim heartbeats -nodes 20 -time 5"),
            Example::new(
                "Measure the heartbeats of 5,000 nodes for ten minutes",
                "encamp sim heartbeats -nodes 5000 -time 600",
            ),
        ],
    ),
    (
        "sim load-shedding",
        &[
            Example::new(
                "Try the scenario with few nodes and jobs",
                "encamp sim load-shedding -nodes 20 -system-jobs 2",
            ),
            Example::new(
                "Measure the servers without load shedding",
                "encamp sim load-shedding -nodes 1000 -no-shedding",
            ),
        ],
    ),
];
