variable "script" {
  default = <<-END
    trap : HUP USR1
    echo $PORT > local/web.conf
    echo ready
    echo ready >&2
    while :; do sleep 1; done
    END
}

variable "version" {
  default = "1.0"
}

job "web" {
  update {
    min_healthy_time = "0s"
  }

  group "front" {
    count = 2

    scaling {
      min = 1
      max = 10
    }

    network {
      port "http" {}
    }

    service {
      name     = "web"
      provider = "nomad"
      port     = "http"

      check {
        type      = "tcp"
        interval  = "5s"
        timeout   = "1s"
        on_update = "ignore"
      }
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "sh"
        args    = ["-c", var.script]
      }

      env {
        PORT    = "${NOMAD_PORT_http}"
        VERSION = var.version
      }

      action "reload" {
        command = "/bin/echo"
        args    = ["reloaded"]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
