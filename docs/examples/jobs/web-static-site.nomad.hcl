# Web service that serves files of an archive which is downloaded before it starts.
# encamp job run -var source=https://files.example.com/site.tar.gz web-static-site.nomad.hcl
# Without a source, nothing is downloaded and the directory is empty.

variable "source" {
  type        = string
  default     = ""
  description = "The address of an archive with the files; empty: none."
}

job "web-static-site" {
  group "web" {
    count = 2

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-static-site"
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
          "${NOMAD_TASK_DIR}/site",
        ]
      }

      dynamic "artifact" {
        for_each = var.source == "" ? [] : [var.source]

        content {
          source      = artifact.value
          destination = "local/site"
        }
      }

      template {
        destination = "local/site/version.txt"
        change_mode = "noop"
        data        = "{{ env \"NOMAD_ALLOC_ID\" }}\n"
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
