job "web" {
  type = "batch"

  periodic {
    cron = "@daily"
  }

  group "api" {
    network {
      mbits = 10
    }

    task "server" {
      driver = "docker"

      resources {
        network {
            port "http" {}
        }
      }
    }
  }
}
