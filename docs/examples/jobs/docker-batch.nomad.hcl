# Batch job in a container.

variable "image" {
  type    = string
  default = "busybox:1.36"
}

job "docker-batch" {
  type = "batch"

  group "work" {
    task "main" {
      driver = "docker"

      config {
        image   = var.image
        command = "echo"
        args    = ["done in a container"]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
