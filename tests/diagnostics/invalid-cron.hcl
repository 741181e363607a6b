job "report" {
  periodic {
    crons     = ["0 3 * *", "61 * * * *"]
    time_zone = "Berlin"
  }

  group "report" {
    task "make" {
      driver = "docker"
    }
  }
}
