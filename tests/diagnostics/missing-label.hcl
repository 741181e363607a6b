job "web" {
  group {
    count = 2

    task "server" {
      driver = "docker"
    }
  }
}
