# Removes old images from the compute nodes once.
job "image-prune" {
  type      = "sysbatch"
  priority  = 20
  node_pool = "compute"

  group "prune" {
    task "prune" {
      driver = "raw_exec"
      config {
        command = "/usr/bin/docker"
        args    = ["image", "prune", "-f"]
      }
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
