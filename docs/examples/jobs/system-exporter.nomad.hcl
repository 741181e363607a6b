# Metrics exporter on every node, at the same port of each.

variable "port" {
  type    = number
  default = 9100
}

job "system-exporter" {
  type     = "system"
  priority = 90

  group "exporter" {
    shutdown_delay = "2s"

    network {
      port "http" {
        static = var.port
      }
    }

    service {
      name     = "system-exporter"
      provider = "nomad"
      port     = "http"

      check {
        type     = "http"
        path     = "/"
        interval = "5s"
        timeout  = "2s"
      }
    }

    task "exporter" {
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
