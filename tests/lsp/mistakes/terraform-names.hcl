job "web" {
  group "api" {
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
