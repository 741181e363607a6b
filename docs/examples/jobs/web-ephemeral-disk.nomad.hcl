# Web service that keeps its data when its allocation is replaced on the same node.

job "web-ephemeral-disk" {
  group "web" {
    count = 1

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    ephemeral_disk {
      size   = 300
      sticky = true
    }

    service {
      name     = "web-ephemeral-disk"
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
