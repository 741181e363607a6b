# Batch job that takes what others leave: it is placed last, and may be evicted by more important jobs.
# Where preemption is on, its allocations are stopped for those whose priority is higher by at least 10.

job "batch-low-priority" {
  type     = "batch"
  priority = 10

  group "work" {
    count = 2

    restart {
      attempts = 0
      mode     = "fail"
    }

    reschedule {
      attempts       = 0
      unlimited      = true
      delay          = "30s"
      delay_function = "exponential"
      max_delay      = "1h"
    }

    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            nice -n 19 sh -c 'echo "part $NOMAD_ALLOC_INDEX is computed"'
          EOT
        ]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
