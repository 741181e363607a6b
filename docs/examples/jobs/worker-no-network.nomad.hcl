# Worker without any network: only a loopback.

job "worker-no-network" {
  group "worker" {
    network {
      mode = "none"
    }

    task "worker" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            while true; do
              date
              sleep 10
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
