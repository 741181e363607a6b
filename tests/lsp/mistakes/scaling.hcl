job "web" {
  group "api" {
    count = 2

    scaling {
      min = 2
      max = 2
    }

    task "server" {
      driver = "docker"
    }
  }
}
