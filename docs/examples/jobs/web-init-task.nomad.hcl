# Web service with a task that prepares the database before each start.

job "web-init-task" {
  group "web" {
    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-init-task"
      provider = "nomad"
      port     = "http"

      check {
        type     = "http"
        path     = "/"
        interval = "5s"
        timeout  = "2s"
      }
    }

    task "migrate" {
      driver = "raw_exec"

      lifecycle {
        hook    = "prestart"
        sidecar = false
      }

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            echo "the schema is current" > "$NOMAD_ALLOC_DIR/data/schema"
          EOT
        ]
      }

      resources {
        cpu    = 100
        memory = 64
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
