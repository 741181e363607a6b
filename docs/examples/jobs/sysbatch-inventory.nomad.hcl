# One run on every node: collect what it has.

job "sysbatch-inventory" {
  type = "sysbatch"

  group "inventory" {
    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            uname -a
            df -P /
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
