# Cache in a container with its data in the directory of the allocation and a read-only root.

variable "image" {
  type    = string
  default = "busybox:1.36"
}

job "docker-cache" {
  group "cache" {
    ephemeral_disk {
      sticky = true
    }

    task "cache" {
      driver = "docker"

      config {
        image           = var.image
        command         = "sleep"
        args            = ["86400"]
        readonly_rootfs = true
        volumes         = ["local/cache:/cache"]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
