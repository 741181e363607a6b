job "web" {
  group "api" {
    shutdown_delay = "5s"

    network {
      port "http" {}
    }

    service {
      name     = "web"
      port     = "http"
      provider = "nomad"

      check {
        name     = "patient"
        type     = "tcp"
        interval = "10s"
      }
    }

    task "server" {
      driver = "docker"
    }
  }
}
