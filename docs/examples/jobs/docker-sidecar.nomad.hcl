# Container with a sidecar in a container.

variable "image" {
  type    = string
  default = "busybox:1.36"
}

job "docker-sidecar" {
  group "web" {
    task "server" {
      driver = "docker"

      config {
        image   = var.image
        command = "sleep"
        args    = ["86400"]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }

    task "shipper" {
      driver = "docker"

      lifecycle {
        hook    = "poststart"
        sidecar = true
      }

      config {
        image   = var.image
        command = "sh"
        args    = ["-c", "tail -F /alloc/logs/server.stdout.0"]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
