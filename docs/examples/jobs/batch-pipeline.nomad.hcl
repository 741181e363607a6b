# Batch job of three steps that share a directory: fetch, transform, report.

job "batch-pipeline" {
  type = "batch"

  group "work" {
    task "fetch" {
      driver = "raw_exec"

      lifecycle {
        hook    = "prestart"
        sidecar = false
      }

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            echo "1 2 3" > "$NOMAD_ALLOC_DIR/data/numbers"
          EOT
        ]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }

    task "transform" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            tr " " "+" < "$NOMAD_ALLOC_DIR/data/numbers" > "$NOMAD_ALLOC_DIR/data/sum"
          EOT
        ]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }

    task "report" {
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
            cat "$NOMAD_ALLOC_DIR/data/sum"
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
