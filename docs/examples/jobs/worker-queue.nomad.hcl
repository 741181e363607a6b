# Queue workers without a port: three copies that take messages.

job "worker-queue" {
  group "worker" {
    count = 3

    restart {
      attempts = 10
      interval = "10m"
      delay    = "5s"
      mode     = "delay"
    }

    task "worker" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            while true; do
              echo "message taken"
              sleep 5
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
