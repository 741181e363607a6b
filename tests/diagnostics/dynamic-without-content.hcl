job "web" {
  group "api" {
    dynamic "task" {
      for_each = ["a", "b"]
      labels   = [task.value]
      driver   = "docker"
    }
  }
}
