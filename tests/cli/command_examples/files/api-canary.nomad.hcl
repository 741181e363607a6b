variable "version" {
  default = "1.0"
}

job "api" {
  update {
    canary           = 1
    min_healthy_time = "0s"
  }

  group "api" {
    task "server" {
      driver = "raw_exec"

      config {
        command = "sleep"
        args    = ["86400"]
      }

      env {
        VERSION = var.version
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
