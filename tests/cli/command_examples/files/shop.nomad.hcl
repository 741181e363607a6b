job "shop" {
  type      = "batch"
  namespace = "prod"

  group "shop" {
    task "shop" {
      driver = "raw_exec"

      config {
        command = "true"
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
