# Memory for others, on the nodes that have much of it.
job "cache" {
  priority = 70

  constraint {
    attribute = "${node.class}"
    value     = "memory"
  }

  group "cache" {
    spread {
      attribute = "${meta.rack}"
    }

    network {
      port "redis" {}
    }

    task "redis" {
      driver = "docker"
      config {
        image = "registry.example/cache:1"
        ports = ["redis"]
      }
      resources {
        cpu    = 300
        memory = 3072
      }
    }
  }
}
