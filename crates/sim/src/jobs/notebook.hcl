# Notebooks beside the GPUs that do not need one.
job "notebook" {
  priority  = 30
  node_pool = "gpu"

  group "notebook" {
    network {
      port "http" {}
    }

    task "jupyter" {
      driver = "docker"
      config {
        image = "registry.example/notebook:1"
        ports = ["http"]
      }
      resources {
        cpu    = 800
        memory = 3072
      }
    }
  }
}
