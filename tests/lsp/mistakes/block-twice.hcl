job "web" {
  group "api" {
    restart {
      attempts = 1
    }

    restart {
      attempts = 2
    }

    task "server" {
      driver = "docker"
    }
  }
}
