# Batch job that is ended after ten minutes.

job "batch-timeout" {
  type = "batch"

  group "work" {
    task "main" {
      driver = "raw_exec"

      config {
        command = "/usr/bin/env"
        args = [
          "timeout",
          "10m",
          "/bin/sh",
          "-c",
          "echo done in time",
        ]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
