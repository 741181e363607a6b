# Service with a file system, processes and a user of its own.

job "exec-service" {
  group "work" {
    task "main" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            id
            exec sleep infinity
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
