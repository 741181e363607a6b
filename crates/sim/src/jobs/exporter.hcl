# Measures every node.
job "node-exporter" {
  type      = "system"
  priority  = 95
  node_pool = "all"

  group "exporter" {
    network {
      port "metrics" {
        static = 9100
      }
    }

    task "exporter" {
      driver = "docker"
      config {
        image = "registry.example/node-exporter:1"
        ports = ["metrics"]
      }
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
