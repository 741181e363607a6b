# Web service with between 1 and 5 copies, which an autoscaler or an operator chooses.
# By hand: encamp job scale web-scaling web 4

job "web-scaling" {
  group "web" {
    count = 2

    shutdown_delay = "2s"

    scaling {
      enabled = true
      min     = 1
      max     = 5

      policy {
        cooldown = "1m"
      }
    }

    network {
      port "http" {}
    }

    service {
      name     = "web-scaling"
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
