# Web service with a password from a variable of the cluster, in its environment.
# First run: encamp var put nomad/jobs/web-secrets password=... A change restarts the task.

job "web-secrets" {
  group "web" {
    count = 2

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-secrets"
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

      template {
        destination = "secrets/app.env"
        env         = true
        change_mode = "restart"
        data        = <<-EOT
          {{ with nomadVar "nomad/jobs/web-secrets" }}PASSWORD={{ .password }}{{ end }}
          EOT
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
