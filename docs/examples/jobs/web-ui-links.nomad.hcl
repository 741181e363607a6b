# Web service with a description and links in the web interface.

job "web-ui-links" {
  ui {
    description = "The **shop**. Call the team *web* if it is down."

    link {
      label = "Runbook"
      url   = "https://example.com/runbook"
    }
  }

  group "web" {
    count = 2

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-ui-links"
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
