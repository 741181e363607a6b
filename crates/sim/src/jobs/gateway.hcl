# An entry point on fixed ports, once per node.
job "gateway" {
  priority = 90

  group "proxy" {
    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    network {
      port "http" {
        static = 80
      }
      port "https" {
        static = 443
      }
    }

    task "proxy" {
      driver = "docker"
      config {
        image = "registry.example/gateway:1"
        ports = ["http", "https"]
      }
      resources {
        cpu    = 800
        memory = 512
      }
    }
  }
}
