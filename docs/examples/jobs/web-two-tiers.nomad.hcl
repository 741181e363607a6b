# Web application of two tiers: the front finds the API by its service.

job "web-two-tiers" {
  group "api" {
    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-two-tiers-api"
      provider = "nomad"
      port     = "http"

      check {
        type     = "http"
        path     = "/"
        interval = "5s"
        timeout  = "2s"
      }
    }

    task "api" {
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

  group "front" {
    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-two-tiers-front"
      provider = "nomad"
      port     = "http"

      check {
        type     = "http"
        path     = "/"
        interval = "5s"
        timeout  = "2s"
      }
    }

    task "front" {
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
        destination = "local/api.json"
        change_mode = "restart"
        data        = <<-EOT
          {{ with nomadService "web-two-tiers-api" }}{{ with index . 0 }}{"api": "http://{{ .Address }}:{{ .Port }}"}{{ end }}{{ end }}
          EOT
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
