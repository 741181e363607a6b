# Backup at 3 every night; a run that takes longer delays the next one.

job "periodic-backup" {
  type = "batch"

  periodic {
    crons            = ["0 3 * * *"]
    prohibit_overlap = true
  }

  group "backup" {
    ephemeral_disk {
      size = 500
    }

    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            tar -cf "$NOMAD_ALLOC_DIR/data/backup.tar" -C "$NOMAD_TASK_DIR" .
            ls -l "$NOMAD_ALLOC_DIR/data"
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
