# Three members of a cluster that find each other by the service they register.
# Each one has a number of its own, NOMAD_ALLOC_INDEX; its list of peers is written again when one starts or stops.

job "cluster-peers" {
  update {
    max_parallel     = 1
    min_healthy_time = "2s"
  }

  group "member" {
    count = 3

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "cluster-peers"
      provider = "nomad"
      port     = "http"
      tags     = ["member-${NOMAD_ALLOC_INDEX}"]

      check {
        type     = "http"
        path     = "/peers.txt"
        interval = "5s"
        timeout  = "2s"
      }
    }

    ephemeral_disk {
      sticky = true
      size   = 300
    }

    task "member" {
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
        destination = "local/peers.txt"
        change_mode = "noop"
        data        = <<-EOT
          self: {{ env "NOMAD_ALLOC_INDEX" }}
          {{ range nomadService "cluster-peers" }}{{ index .Tags 0 }} {{ .Address }}:{{ .Port }}
          {{ end }}
          EOT
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
