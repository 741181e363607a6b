job "web" {
  group "api" {
    restart {
      interval = "30"
      delay    = "5 minutes"
    }

    reschedule {
      delay     = "soon"
      max_delay = "2d"
    }

    task "server" {
      driver       = "docker"
      kill_timeout = true
    }
  }
}
