# Batch job: five copies, each with its part of the work.

job "batch-parallel" {
  type = "batch"

  group "work" {
    count = 5

    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            echo "part $NOMAD_ALLOC_INDEX of 5"
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
