# Web service whose cache is filled after each start.

job "web-warm-up" {
  group "web" {
    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-warm-up"
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

    task "warm-up" {
      driver = "raw_exec"

      lifecycle {
        hook    = "poststart"
        sidecar = false
      }

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            for page in / /index.html; do
              echo "warm: $page"
            done
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
