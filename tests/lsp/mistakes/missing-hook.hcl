job "web" {
  group "api" {
    task "server" {
      driver = "docker"

      lifecycle {}
    }
  }
}
