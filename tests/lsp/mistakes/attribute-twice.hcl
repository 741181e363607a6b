job "web" {
  group "api" {
    count = 1
    count = 2

    task "server" {
      driver = "docker"
    }
  }
}
