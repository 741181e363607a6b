# Watches the GPUs.
job "gpu-monitor" {
  type      = "system"
  priority  = 85
  node_pool = "gpu"

  group "monitor" {
    network {
      port "metrics" {
        static = 9400
      }
    }

    task "monitor" {
      driver = "docker"
      config {
        image = "registry.example/gpu-monitor:1"
        ports = ["metrics"]
      }
      resources {
        cpu    = 100
        memory = 128
      }
    }
  }
}
