# Web service: rolling update, one copy after the other, which is undone if it fails.
# A copy counts as healthy after 2 seconds; a deployment that fails returns to the last version that worked.

job "web-rolling" {
  update {
    max_parallel     = 1
    min_healthy_time = "2s"
    healthy_deadline = "2m"
    auto_revert      = true
  }

  group "web" {
    count = 3

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-rolling"
      provider = "nomad"
      port     = "http"

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
