# Web service with environment variables and meta, some of them computed.

job "web-meta-env" {
  meta {
    team  = "shop"
    stage = "production"
  }

  group "web" {
    count = 2

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-meta-env"
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

      env {
        LOG_LEVEL = "info"
        TEAM      = "${NOMAD_META_team}"
        NODE      = "${node.unique.name}"
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
