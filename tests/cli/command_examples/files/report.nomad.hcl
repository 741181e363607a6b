job "report" {
  type = "batch"

  parameterized {
    payload       = "optional"
    meta_required = ["month"]
  }

  group "report" {
    task "report" {
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
