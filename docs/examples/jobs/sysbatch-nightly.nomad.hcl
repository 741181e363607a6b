# One run on every node, each night.

job "sysbatch-nightly" {
  type = "sysbatch"

  periodic {
    crons            = ["30 2 * * *"]
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
            echo "rotated"
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
