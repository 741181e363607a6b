# Web service: one canary of each new version, promoted by hand.
# Register a change, look at the canary, then run: encamp job promote web-canary

job "web-canary" {
  update {
    max_parallel     = 1
    min_healthy_time = "2s"
    healthy_deadline = "2m"
    canary           = 1
    auto_revert      = true
  }

  group "web" {
    count = 2

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name        = "web-canary"
      provider    = "nomad"
      port        = "http"
      tags        = ["live"]
      canary_tags = ["canary"]

      check {
        type     = "http"
        path     = "/"
        interval = "5s"
        timeout  = "2s"
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
