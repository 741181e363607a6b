job "web" {
  group "api" {
    for_each = ["a", "b"]

    task "server" {
      driver = "docker"

      config {
        image = "web:${tostring(2)}"
      }
    }
  }
}
