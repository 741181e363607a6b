job "web" {
  datacenters = "dc1"

  group "api" {
    count = 1.5

    task "server" {
      driver = "docker"
      leader = "yes"
      user   = ["www", "data"]

      resources {
        cpu    = "2GHz"
        memory = "512MB"
      }
    }
  }
}
