# Web service in a network of its own: port 8000 of the task is reached by a port of the node.
# Nodes need the plugins of the CNI project.

job "web-bridge" {
  group "web" {
    count = 2

    shutdown_delay = "2s"

    network {
      mode = "bridge"

      port "http" {
        to = 8000
      }
    }

    service {
      name     = "web-bridge"
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
