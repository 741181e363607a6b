variable "tag" {
  type = string
}

job "web" {
  group "api" {
    task "server" {
      driver = "docker"

      config {
        image = "web:${var.tag}"
      }
    }
  }
}
