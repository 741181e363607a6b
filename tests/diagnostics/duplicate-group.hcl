job "web" {
  group "api" {
    task "server" {
      driver = "docker"
    }
  }

  group "api" {
    task "server" {
      driver = "docker"
    }

    task "server" {
      driver = "docker"
    }
  }
}
