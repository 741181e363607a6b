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
        name     = "page"
        type     = "http"
        interval = "10s"
        timeout  = "2s"
      }

      check {
        name     = "often"
        type     = "tpc"
        interval = "10s"
        timeout  = "2s"
      }

      check {
        name    = "never"
        type    = "tcp"
        timeout = "2s"
      }

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
