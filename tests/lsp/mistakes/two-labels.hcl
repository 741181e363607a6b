job "web" {
  group "api" "v2" {
    task "server" {
      driver = "docker"
    }
  }
}
