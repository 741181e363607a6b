# Worker with a helper that ends when the leader ends.

job "worker-leader" {
  type = "batch"

  group "work" {
    task "main" {
      driver = "raw_exec"

      leader = true

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            sleep 2
            echo "done"
          EOT
        ]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }

    task "helper" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            while true; do
              sleep 1
            done
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
