job "backup" {
  type = "batch"

  periodic {
    crons = ["0 3 * * *"]
  }

  group "backup" {
    task "backup" {
      driver = "raw_exec"

      config {
        command = "true"
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
