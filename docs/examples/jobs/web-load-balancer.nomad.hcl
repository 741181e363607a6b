# Load balancer whose list of servers follows the instances of a service.
# The template is rendered again when an instance starts or stops; SIGHUP tells the balancer.

job "web-load-balancer" {
  group "backend" {
    count = 2

    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "web-load-balancer-backend"
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

  group "balancer" {
    task "balancer" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            trap "cat local/upstreams.conf" HUP
            cat local/upstreams.conf
            while true; do
              sleep 1
            done
          EOT
        ]
      }

      template {
        destination   = "local/upstreams.conf"
        change_mode   = "signal"
        change_signal = "SIGHUP"
        data          = <<-EOT
          {{ range nomadService "web-load-balancer-backend" }}server {{ .Address }}:{{ .Port }};
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
