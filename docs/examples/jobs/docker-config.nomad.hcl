# Container with a configuration file that a template renders.

variable "image" {
  type    = string
  default = "busybox:1.36"
}

job "docker-config" {
  group "web" {
    task "server" {
      driver = "docker"

      config {
        image   = var.image
        command = "sh"
        args    = ["-c", "cat /local/app.conf; exec sleep 86400"]
      }

      template {
        destination = "local/app.conf"
        change_mode = "restart"
        data        = <<-EOT
          job = "{{ env "NOMAD_JOB_NAME" }}"
          EOT
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
