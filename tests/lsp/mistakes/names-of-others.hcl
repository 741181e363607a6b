job "web" {
  group "api" {
    replicas = 2

    task "server" {
      driver = "docker"
    }
  }
}
