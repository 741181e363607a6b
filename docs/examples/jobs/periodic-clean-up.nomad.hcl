# Clean-up every 15 minutes, and once more at midnight on Sundays.

job "periodic-clean-up" {
  type = "batch"

  periodic {
    crons            = ["*/15 * * * *", "0 0 * * 0"]
    prohibit_overlap = true
  }

  group "work" {
    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            find "$NOMAD_TASK_DIR" -name "*.tmp" -delete
            echo "clean"
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
