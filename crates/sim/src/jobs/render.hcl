# Needs processor cores for itself.
job "render" {
  type      = "batch"
  priority  = 35
  node_pool = "compute"

  group "render" {
    task "render" {
      driver = "exec"
      config {
        command = "/usr/bin/render"
        args    = ["--tiles"]
      }
      resources {
        cores  = 2
        memory = 2048
      }
    }
  }
}
