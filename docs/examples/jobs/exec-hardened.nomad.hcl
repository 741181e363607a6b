# Batch job without any capability, as another user.

job "exec-hardened" {
  type = "batch"

  group "work" {
    task "main" {
      driver = "exec"
      user   = "nobody"

      config {
        command  = "/bin/sh"
        cap_drop = ["all"]
        args = [
          "-c",
          <<-EOT
            grep Cap /proc/self/status
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
