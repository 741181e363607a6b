# Trains models on large GPUs.
job "train" {
  type      = "batch"
  priority  = 55
  node_pool = "gpu"

  group "train" {
    task "train" {
      driver = "docker"
      config {
        image = "registry.example/train:1"
      }
      resources {
        cpu    = 3000
        memory = 16384
        device "nvidia/gpu" {
          count = 1
          constraint {
            attribute = "${device.attr.memory}"
            operator  = ">="
            value     = "40 GiB"
          }
        }
      }
    }
  }
}
