# Web service that leaves the load balancer before it stops.
# The service is deregistered, the task goes on for 3 seconds, gets SIGTERM, and has 20 seconds to end.

job "web-graceful-stop" {
  group "web" {
    count = 2

    network {
      port "http" {}
    }

    service {
      name     = "web-graceful-stop"
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

      kill_signal    = "SIGTERM"
      kill_timeout   = "20s"
      shutdown_delay = "3s"

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
