# Launches every night.
job "report" {
  type     = "batch"
  priority = 30

  periodic {
    crons            = ["30 2 * * *"]
    prohibit_overlap = true
    time_zone        = "UTC"
  }

  group "report" {
    task "report" {
      driver = "docker"
      config {
        image = "registry.example/report:1"
      }
      resources {
        cpu    = 500
        memory = 512
      }
    }
  }
}
