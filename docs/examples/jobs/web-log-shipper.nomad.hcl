# Web service with a sidecar that ships the log files of the server.

job "web-log-shipper" {
  group "web" {
    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-log-shipper"
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

    task "shipper" {
      driver = "raw_exec"

      lifecycle {
        hook    = "poststart"
        sidecar = true
      }

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            tail -F "$NOMAD_ALLOC_DIR"/logs/server.std*.0
          EOT
        ]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
