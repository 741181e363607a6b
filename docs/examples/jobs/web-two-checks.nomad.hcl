# Web service with a check for readiness and one for life.
# An instance that is not ready gets no traffic; one that does not accept connections is restarted.

job "web-two-checks" {
  group "web" {
    count = 2

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-two-checks"
      provider = "nomad"
      port     = "http"

      check {
        name     = "ready"
        type     = "http"
        method   = "HEAD"
        path     = "/"
        interval = "5s"
        timeout  = "2s"

        header {
          User-Agent = ["health-check"]
        }
      }

      check {
        name     = "alive"
        type     = "tcp"
        interval = "10s"
        timeout  = "2s"

        check_restart {
          limit = 3
          grace = "30s"
        }
      }
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "/usr/bin/env"
        args = [
          "python3",
          "-m",
          "http.server",
          "${NOMAD_PORT_http}",
          "--directory",
          "${NOMAD_TASK_DIR}",
        ]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
