# Cluster scaling: this block of a client agent's configuration makes its node
# a member of a worker pool, which the autoscaler keeps just large enough.
# Every node of the pool carries the same values. Values of meta are strings.

data_dir = "/opt/encamp"

client {
  enabled = true

  meta {
    # Whether nodes of the pool may be added and removed. False takes this node
    # out of the pool.
    replicator_enabled = "true"

    # Name of the pool. With the provider "aws" it is also the name of the auto
    # scaling group.
    replicator_worker_pool = "container-workers"

    # The fewest and the most nodes of the pool.
    replicator_min = "3"
    replicator_max = "10"

    # Tag of every notification about the pool.
    replicator_notification_uid = "container-workers"

    # Region of the cloud.
    replicator_region = "us-east-1"

    # All below may be left out; these are the defaults.

    # What starts and stops instances: aws, command or local.
    replicator_provider = "aws"

    # Least time between two operations, in seconds.
    replicator_cooldown = "300"

    # How many nodes may fail without a lack of room: their capacity is held
    # back.
    replicator_node_fault_tolerance = "1"

    # Failures in a row before nothing is done any more until an operator runs
    # encamp autoscale failsafe -disable.
    replicator_retry_threshold = "3"

    # Evaluations in a row that have to ask for the same before it is done.
    replicator_scaling_threshold = "3"

    # Nodes that are added at once.
    replicator_scale_factor = "1"
  }
}
