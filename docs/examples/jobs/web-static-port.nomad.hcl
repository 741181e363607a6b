# Web service at a fixed port of its node.

variable "port" {
  type        = number
  default     = 8080
  description = "The port of the node."
}

job "web-static-port" {
  group "web" {
    count = 1

    shutdown_delay = "2s"

    network {
      port "http" {
        static = var.port
      }
    }

    service {
      name     = "web-static-port"
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
