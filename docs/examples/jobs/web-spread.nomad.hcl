# Web service: copies spread evenly over racks.
# Nodes name their rack in client.meta.rack; those without one count as one rack.

job "web-spread" {
  spread {
    attribute = "${meta.rack}"
    weight    = 100
  }

  group "web" {
    count = 3

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-spread"
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
