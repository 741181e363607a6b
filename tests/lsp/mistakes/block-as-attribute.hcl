job "web" {
  group "api" {
    task "server" {
      driver = "docker"

      resources = {
        cpu = 100
      }
    }
  }
}
