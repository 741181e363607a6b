# Runs where the network may fail and goes on without it.
job "edge" {
  priority  = 60
  node_pool = "edge"

  constraint {
    attribute = "${attr.cpu.arch}"
    value     = "arm64"
  }

  group "edge" {
    disconnect {
      lost_after = "24h"
      replace    = false
    }

    network {
      port "mqtt" {}
    }

    task "collector" {
      driver = "docker"
      config {
        image = "registry.example/collector:1"
        ports = ["mqtt"]
      }
      resources {
        cpu    = 200
        memory = 192
      }
    }
  }
}
