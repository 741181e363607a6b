job "web" {
  group "api" {
    service {
      name     = "web_app"
      provider = "konsul"
    }

    task "server" {
      driver = "docker"
    }
  }
}
