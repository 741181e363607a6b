# Worker whose output is not stored on the node, because it logs over the network.

job "worker-without-logs" {
  group "worker" {
    task "worker" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            while true; do
              echo "stored nowhere"
              sleep 5
            done
          EOT
        ]
      }

      logs {
        disabled = true
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
