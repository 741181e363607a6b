# Web service in containers: a port of the node leads to port 8080 of each.

variable "image" {
  type    = string
  default = "busybox:1.36"
}

job "docker-web" {
  group "web" {
    count = 2

    shutdown_delay = "2s"

    network {
      port "http" {
        to = 8080
      }
    }

    service {
      name     = "docker-web"
      provider = "nomad"
      port     = "http"

      check {
        type     = "tcp"
        interval = "5s"
        timeout  = "2s"
      }
    }

    task "server" {
      driver = "docker"

      config {
        image   = var.image
        command = "busybox"
        args    = ["httpd", "-f", "-p", "8080", "-h", "/local"]
        ports   = ["http"]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
