# The search index. Every copy holds all of it.
job "search" {
  datacenters = ["dc1"]

  group "index" {
    count = 5

    # Copies on one machine would go down together.
    constraint {
      distinct_hosts = true
    }

    network {
      port "http" {}
    }

    task "server" {
      driver = "docker"

      config {
        image = "registry.example/search:9"
        ports = ["http"]
      }

      resources {
        cpu    = 800
        memory = 7410 # measured under load
      }
    }
  }
}
