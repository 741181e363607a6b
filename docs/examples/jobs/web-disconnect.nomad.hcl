# Web service on nodes with a bad connection: a copy that is out of reach for less than 10 minutes may come back.

job "web-disconnect" {
  group "web" {
    count = 2

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    disconnect {
      lost_after = "10m"
      replace    = true
      reconcile  = "best_score"
    }

    service {
      name     = "web-disconnect"
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
