job "web" {
  group "api" {
    count = var.copies

    task "server" {
      driver = "docker"

      config {
        image = "web:${var.tag}"
      }
    }
  }
}
