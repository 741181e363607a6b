# Batch job with a secret in a file system in memory.
# First run: encamp var put nomad/jobs/exec-secret-file password=...

job "exec-secret-file" {
  type = "batch"

  group "work" {
    task "main" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            test -s /secrets/password
            echo "the secret is there"
          EOT
        ]
      }

      template {
        destination = "secrets/password"
        perms       = "600"
        uid         = 65534
        change_mode = "noop"
        data        = <<-EOT
          {{ with nomadVar "nomad/jobs/exec-secret-file" }}{{ .password }}{{ end }}
          EOT
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
