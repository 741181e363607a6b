job "web" {
  group "api" {
    update {
      health_check = "manual"
      canary       = 1
      auto_promote = true
    }

    task "server" {
      driver = "docker"
    }
  }
}
