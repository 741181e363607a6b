# Log shipper on every node.

job "system-log-shipper" {
  type = "system"

  update {
    max_parallel = 1
    stagger      = "10s"
  }

  group "shipper" {
    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            while true; do
              echo "shipped"
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
