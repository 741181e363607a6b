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
        name     = "often"
        type     = "tpc"
        interval = "10s"
        timeout  = "2s"
      }
    }

    task "server" {
      driver = "docker"
    }
  }
}
