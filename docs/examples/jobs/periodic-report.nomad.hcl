# Report at 8 on working days, by the time of Berlin.

job "periodic-report" {
  type = "batch"

  periodic {
    crons            = ["0 8 * * 1-5"]
    prohibit_overlap = true
    time_zone        = "Europe/Berlin"
  }

  group "report" {
    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            echo "report of $(date)"
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
