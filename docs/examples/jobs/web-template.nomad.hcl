# Web service with a page that a template renders from the environment.

job "web-template" {
  group "web" {
    count = 2

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-template"
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
        destination = "local/index.html"
        change_mode = "noop"
        data        = <<-EOT
          <h1>{{ env "NOMAD_JOB_NAME" }}</h1>
          <p>Allocation {{ env "NOMAD_ALLOC_ID" }} on {{ env "node.unique.name" }}</p>
          EOT
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
