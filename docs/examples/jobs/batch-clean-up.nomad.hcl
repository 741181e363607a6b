# Batch job with a task that cleans up after the main one, whatever its result is.

job "batch-clean-up" {
  type = "batch"

  group "work" {
    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            echo "work" > "$NOMAD_ALLOC_DIR/data/lock"
          EOT
        ]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }

    task "clean-up" {
      driver = "raw_exec"

      lifecycle {
        hook    = "poststop"
        sidecar = false
      }

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            rm -f "$NOMAD_ALLOC_DIR/data/lock"
            echo "cleaned"
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
