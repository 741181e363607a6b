job "web" {
  group "api" {
    shutdown_delay = "5s"

    dynamic "service" {
      for_each = ["a"]
      content {
        name     = "web-${each.value}"
        provider = "nomad"
      }
    }

    task "server" {
      driver = "docker"

      config {
        image = "web:${path.module}/a"
      }
    }
  }
}
