# Serves requests from the compute nodes.
job "pipeline" {
  priority  = 45
  node_pool = "compute"

  group "stage" {
    network {
      port "rpc" {}
    }

    task "stage" {
      driver = "docker"
      config {
        image = "registry.example/pipeline:1"
        ports = ["rpc"]
      }
      resources {
        cpu    = 1200
        memory = 640
      }
    }
  }
}
