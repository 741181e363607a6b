# Agent on every Linux node, which is updated node by node.
# A new version goes to the next node when the copy on the last one is healthy.

job "system-rolling" {
  type     = "system"
  priority = 80

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  update {
    max_parallel      = 1
    min_healthy_time  = "5s"
    healthy_deadline  = "2m"
    progress_deadline = "5m"
    health_check      = "task_states"
  }

  group "agent" {
    restart {
      attempts = 5
      interval = "5m"
      delay    = "10s"
      mode     = "delay"
    }

    task "agent" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            echo "agent of node ${node.unique.name}"
            exec sleep infinity
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
