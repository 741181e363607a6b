job "web" {
  group "api" {
    task "server" {
      driver = "docker"

      image = "web:1"
    }
  }
}
