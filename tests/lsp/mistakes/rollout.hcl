job "web" {
  group "api" {
    update {
      max_parallel = 0
      canary       = 1
    }

    task "server" {
      driver = "docker"
    }
  }
}
