# Worker that reads a directory of its node.
# Nodes offer it as: client { host_volume "data" { path = "/srv/data" } }

job "worker-host-volume" {
  group "worker" {
    volume "data" {
      type      = "host"
      source    = "data"
      read_only = true
    }

    task "main" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            while true; do
              echo "files: $(ls /data | wc -l)"
              sleep 10
            done
          EOT
        ]
      }

      volume_mount {
        volume      = "data"
        destination = "/data"
        read_only   = true
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
