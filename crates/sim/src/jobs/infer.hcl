# Answers with a model on a small GPU.
job "infer" {
  priority  = 65
  node_pool = "gpu"

  group "infer" {
    network {
      port "http" {}
    }

    task "infer" {
      driver = "docker"
      config {
        image = "registry.example/infer:1"
        ports = ["http"]
      }
      resources {
        cpu    = 1500
        memory = 6144
        device "amd/gpu" {
          count = 1
          affinity {
            attribute = "${device.attr.memory}"
            operator  = ">="
            value     = "16 GiB"
            weight    = 50
          }
        }
      }
    }
  }
}
