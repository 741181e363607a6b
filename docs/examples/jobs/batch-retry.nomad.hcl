# Batch job that is tried again on its node when it fails.

job "batch-retry" {
  type = "batch"

  group "work" {
    restart {
      attempts = 3
      interval = "10m"
      delay    = "1s"
      mode     = "fail"
    }

    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            marker="$NOMAD_ALLOC_DIR/data/tried"
            if [ ! -e "$marker" ]; then
              touch "$marker"
              exit 1
            fi
            echo "second try"
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
