# Job scaling: with this meta block the autoscaler changes the count of a group
# by what its allocations use. It needs job_scaling = true in the autoscaling
# block of the servers. Values of meta are strings.

job "example" {
  group "web" {
    count = 2

    meta {
      # Whether the count may be changed.
      replicator_enabled = "true"

      # The lowest and the highest count.
      replicator_min = "1"
      replicator_max = "10"

      # The count goes down by one when both are below: percent of the CPU and
      # memory that the tasks ask for, on average over the allocations.
      replicator_scalein_cpu = "30"
      replicator_scalein_mem = "30"

      # The count goes up by one when the one that is used more is above.
      replicator_scaleout_cpu = "80"
      replicator_scaleout_mem = "80"

      # Tag of every notification about the group.
      replicator_notification_uid = "example-web"

      # All below may be left out; these are the defaults.

      # Least time between two changes, in seconds.
      replicator_cooldown = "60"

      # Failures in a row before nothing is done any more until an operator
      # intervenes.
      replicator_retry_threshold = "1"
    }

    task "server" {
      driver = "docker"

      config {
        image = "nginx:1.27"
      }

      resources {
        cpu    = 500
        memory = 256
      }
    }
  }
}
