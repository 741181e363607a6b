# Batch job that runs a longer script, which a template writes.

job "batch-script" {
  type = "batch"

  group "work" {
    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "${NOMAD_TASK_DIR}/main.sh",
        ]
      }

      template {
        destination = "local/main.sh"
        perms       = "755"
        change_mode = "noop"
        data        = <<-EOT
          #!/bin/sh
          set -eu
          echo "script of {{ env "NOMAD_JOB_NAME" }}"
          EOT
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
