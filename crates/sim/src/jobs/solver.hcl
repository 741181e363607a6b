# Long-running computations.
job "solver" {
  type      = "batch"
  priority  = 20
  node_pool = "compute"

  affinity {
    attribute = "${attr.cpu.numcores}"
    operator  = ">="
    value     = "32"
    weight    = 30
  }

  group "solve" {
    reschedule {
      attempts  = 3
      interval  = "24h"
      unlimited = false
    }

    task "solve" {
      driver = "docker"
      config {
        image = "registry.example/solver:1"
      }
      resources {
        cpu    = 2000
        memory = 1024
      }
    }
  }
}
