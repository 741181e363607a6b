# Web service with an action that operators run in its tasks.
# encamp job action -job web-actions -group web -task server list-files

job "web-actions" {
  group "web" {
    count = 2

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-actions"
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

      action "list-files" {
        command = "/bin/ls"
        args    = ["-l"]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
