# Web service: blue and green. A new version starts completely beside the old one.
# As many canaries as copies; promotion stops the old version.

job "web-blue-green" {
  update {
    max_parallel     = 2
    canary           = 2
    min_healthy_time = "2s"
  }

  group "web" {
    count = 2

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-blue-green"
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
