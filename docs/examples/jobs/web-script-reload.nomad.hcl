# Web service that checks its new configuration by a script before it uses it.
# First run: encamp var put nomad/jobs/web-script-reload greeting=hello

job "web-script-reload" {
  group "web" {
    task "server" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            while true; do
              cat local/app.conf
              sleep 5
            done
          EOT
        ]
      }

      template {
        destination = "local/app.conf"
        change_mode = "script"
        data        = <<-EOT
          greeting = "{{ with nomadVar "nomad/jobs/web-script-reload" }}{{ .greeting }}{{ end }}"
          EOT

        change_script {
          command       = "/bin/grep"
          args          = ["-q", "greeting", "local/app.conf"]
          timeout       = "5s"
          fail_on_error = false
        }
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
