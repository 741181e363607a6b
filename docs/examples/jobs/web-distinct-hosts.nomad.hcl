# Web service with at most one copy on each node.

job "web-distinct-hosts" {
  group "web" {
    count = 1

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    service {
      name     = "web-distinct-hosts"
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
