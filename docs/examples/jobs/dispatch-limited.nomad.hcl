# Worker on demand, on Linux nodes only, which is tried twice.

job "dispatch-limited" {
  type = "batch"

  parameterized {
    payload = "optional"
  }

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  group "work" {
    restart {
      attempts = 1
      delay    = "1s"
      mode     = "fail"
    }

    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            echo "done"
          EOT
        ]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
