job "web" {
  group "api" {
    spread {
      attribute = "${node.datacenter}"
      target "dc1" {
        percent = 100
      }
    }

    task "server" {
      driver = "docker"
    }
  }
}
