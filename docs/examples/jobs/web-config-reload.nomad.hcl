# Web service whose configuration comes from a variable: SIGHUP tells it about changes.
# First run: encamp var put nomad/jobs/web-config-reload greeting=hello

job "web-config-reload" {
  group "web" {
    task "server" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            trap "cat local/app.conf" HUP
            cat local/app.conf
            while true; do
              sleep 1
            done
          EOT
        ]
      }

      template {
        destination   = "local/app.conf"
        change_mode   = "signal"
        change_signal = "SIGHUP"
        data          = <<-EOT
          greeting = "{{ with nomadVar "nomad/jobs/web-config-reload" }}{{ .greeting }}{{ end }}"
          EOT

        wait {
          min = "1s"
          max = "5s"
        }
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
