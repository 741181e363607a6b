//! Examples of commands about nodes, node pools, storage and autoscaling.

use super::{Example, Examples};

pub(super) const EXAMPLES: Examples = &[
    (
        "node status",
        &[
            Example::new("List the nodes", "encamp node status"),
            Example::new("Show a node with its resource usage", "encamp node status -stats f7476465"),
            Example::new("List the nodes of a class", "encamp node status -filter 'NodeClass == \"large\"'"),
        ],
    ),
    (
        "node eligibility",
        &[
            Example::new("Make a node ineligible for new allocations", "encamp node eligibility -disable f7476465"),
            Example::new(
                "Make the node of the contacted agent eligible again",
                "encamp node eligibility -enable -self",
            ),
        ],
    ),
    (
        "node drain",
        &[
            Example::new(
                "Start to drain a node for maintenance, without waiting",
                "encamp node drain -enable -yes -detach -deadline 30m \\
    -m \"Kernel update\" f7476465",
            ),
            Example::new(
                "Stop all allocations of a node now, and wait until it is empty",
                "encamp node drain -enable -yes -force f7476465",
            ),
            Example::new("End the drain of the node of the contacted agent", "encamp node drain -disable -yes -self"),
            Example::new(
                "Plan the drain of all nodes of a class, at most 5 at a time",
                "encamp node drain -plan -snapshot fixtures/demo/cluster.json -batch 5 \\
    class=gpu",
            ),
        ],
    ),
    (
        "node config",
        &[
            Example::new("List the servers of a client", "encamp node config -servers"),
            Example::new(
                "Replace the servers of a client",
                "encamp node config -update-servers 10.0.0.11:4647 10.0.0.12:4647",
            ),
        ],
    ),
    (
        "node identity get",
        &[
            Example::new("Show the claims of the identity of a node", "encamp node identity get f7476465"),
            Example::new("Print them as JSON", "encamp node identity get -json f7476465"),
        ],
    ),
    (
        "node identity renew",
        &[
            Example::new("Renew the identity of a node", "encamp node identity renew f7476465"),
            Example::new(
                "Renew the identities of all nodes of a class",
                "encamp node status -quiet -filter 'NodeClass == \"large\"' |
    xargs -n 1 encamp node identity renew",
            ),
        ],
    ),
    (
        "node identity revoke",
        &[
            Example::new("Revoke the identity of a stolen node", "encamp node identity revoke -yes f7476465"),
            Example::new(
                "Revoke it, and create a token with which the node joins again",
                "encamp node identity revoke -yes f7476465 &&
    encamp node intro create -ttl 10m",
            ),
        ],
    ),
    (
        "node intro create",
        &[
            Example::new("Create a token with which any node can join", "encamp node intro create"),
            Example::new(
                "Create a token for one node of a pool, valid for ten minutes",
                "encamp node intro create -node-name worker-7 -node-pool gpu -ttl 10m",
            ),
        ],
    ),
    (
        "node meta apply",
        &[
            Example::new(
                "Set metadata of the node of the contacted agent",
                "encamp node meta apply rack=r17 owner=web",
            ),
            Example::new("Remove metadata of a node", "encamp node meta apply -node-id f7476465 -unset owner"),
        ],
    ),
    (
        "node meta read",
        &[
            Example::new("Show the metadata of the node of the contacted agent", "encamp node meta read"),
            Example::new("Print the metadata of a node as JSON", "encamp node meta read -json -node-id f7476465"),
        ],
    ),
    (
        "node pool apply",
        &[
            Example::new("Create or update a node pool", "encamp node pool apply gpu.hcl"),
            Example::new(
                "Create a node pool from standard input",
                "echo 'node_pool \"batch\" {}' | encamp node pool apply -",
            ),
        ],
    ),
    (
        "node pool list",
        &[
            Example::new("List the node pools", "encamp node pool list"),
            Example::new(
                "List the node pools whose names begin with a word",
                "encamp node pool list -filter 'Name matches \"^gpu\"'",
            ),
        ],
    ),
    (
        "node pool info",
        &[
            Example::new("Show a node pool", "encamp node pool info gpu"),
            Example::new("Print a node pool as JSON", "encamp node pool info -json gpu"),
        ],
    ),
    (
        "node pool nodes",
        &[
            Example::new("List the nodes of a pool", "encamp node pool nodes default"),
            Example::new(
                "List the nodes of a pool that are ready",
                "encamp node pool nodes -filter 'Status == \"ready\"' default",
            ),
        ],
    ),
    (
        "node pool jobs",
        &[
            Example::new("List the jobs of a node pool", "encamp node pool jobs default"),
            Example::new(
                "Print the IDs of the jobs of a pool",
                "encamp node pool jobs -t '{{range .}}{{.ID}} {{end}}' default",
            ),
        ],
    ),
    (
        "node pool delete",
        &[
            Example::new("Delete a node pool", "encamp node pool delete batch"),
            Example::new(
                "Delete a node pool with the token of an administrator",
                "encamp node pool delete -token $ADMIN_TOKEN gpu",
            ),
        ],
    ),
    (
        "volume status",
        &[
            Example::new("List the volumes", "encamp volume status"),
            Example::new("List the host volumes of a node pool", "encamp volume status -type host -node-pool default"),
        ],
    ),
    (
        "volume create",
        &[
            Example::new("Create a volume and wait until it is ready", "encamp volume create data.volume.hcl"),
            Example::new("Create a volume without waiting for it", "encamp volume create -detach logs.volume.json"),
        ],
    ),
    (
        "volume register",
        &[
            Example::new("Register a directory of a node as a volume", "encamp volume register srv.volume.hcl"),
            Example::new(
                "Register a directory for the jobs of a namespace",
                "encamp volume register -namespace prod media.volume.hcl",
            ),
        ],
    ),
    (
        "volume delete",
        &[
            Example::new("Delete a host volume with its content", "encamp volume delete -type host 3b1f6e2a"),
            Example::new(
                "Delete a host volume whose node will not come back",
                "encamp volume delete -type host -force 3b1f6e2a",
            ),
        ],
    ),
    (
        "volume deregister",
        &[
            Example::new("Remove a CSI volume from the cluster", "encamp volume deregister database"),
            Example::new(
                "Remove a CSI volume that allocations still claim",
                "echo y | encamp volume deregister -force database",
            ),
        ],
    ),
    (
        "volume detach",
        &[
            Example::new("Detach a CSI volume from a node", "encamp volume detach database f7476465"),
            Example::new(
                "Detach a CSI volume of another namespace from a node",
                "encamp volume detach -namespace prod database f7476465",
            ),
        ],
    ),
    (
        "volume claim list",
        &[
            Example::new("List the claims on host volumes", "encamp volume claim list"),
            Example::new("List the claims of a job", "encamp volume claim list -job db"),
        ],
    ),
    (
        "volume claim delete",
        &[
            Example::new("Delete a claim without being asked", "encamp volume claim delete -y 7c0e5d41"),
            Example::new(
                "Delete a claim with the token of an administrator",
                "encamp volume claim delete -y -token $ADMIN_TOKEN 7c0e5d41",
            ),
        ],
    ),
    (
        "volume snapshot create",
        &[
            Example::new("Create a snapshot of a CSI volume", "encamp volume snapshot create database"),
            Example::new(
                "Create a snapshot with a name and a parameter of the plugin",
                "encamp volume snapshot create -parameter tier=cold database nightly",
            ),
        ],
    ),
    (
        "volume snapshot list",
        &[
            Example::new("List the snapshots of a storage plugin", "encamp volume snapshot list -plugin ebs"),
            Example::new(
                "List the first ten snapshots with full IDs",
                "encamp volume snapshot list -plugin ebs -per-page 10 -verbose",
            ),
        ],
    ),
    (
        "volume snapshot delete",
        &[
            Example::new("Delete a snapshot", "encamp volume snapshot delete ebs snap-0b12"),
            Example::new(
                "Delete a snapshot with a secret of the storage provider",
                "encamp volume snapshot delete -secret key=$ADMIN_TOKEN ebs snap-0b12",
            ),
        ],
    ),
    (
        "plugin status",
        &[
            Example::new("List the storage plugins", "encamp plugin status"),
            Example::new("Print the CSI plugins as JSON", "encamp plugin status -type csi -json"),
        ],
    ),
    (
        "autoscale status",
        &[
            Example::new("List the worker pools", "encamp autoscale status"),
            Example::new("Show all details of a worker pool", "encamp autoscale status web-workers"),
            Example::new("List the job groups that are scaled", "encamp autoscale status -groups"),
        ],
    ),
    (
        "autoscale failsafe",
        &[
            Example::new("Stop all scaling of a worker pool", "encamp autoscale failsafe -enable -yes web-workers"),
            Example::new("Scale the pool again", "encamp autoscale failsafe -disable -yes web-workers"),
        ],
    ),
    (
        "autoscale agent",
        &[
            Example::new("Scale the worker pools of the cluster, with the default settings", "encamp autoscale agent"),
            Example::new(
                "Scale worker pools and job groups, with providers from a file",
                "encamp autoscale agent -config autoscaling.hcl -job-scaling",
            ),
        ],
    ),
    (
        "snapshot fetch",
        &[
            Example::new(
                "Write the state of the running cluster to a compressed file",
                "encamp snapshot fetch -out cluster.json.zst",
            ),
            Example::new(
                "Fetch it without the cache, and report as JSON",
                "encamp snapshot fetch -json -no-cache -out fresh.json.gz",
            ),
        ],
    ),
];
