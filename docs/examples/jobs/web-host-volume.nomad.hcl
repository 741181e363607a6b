# Web service with a directory of the node.
# Nodes offer it as: client { host_volume "data" { path = "/srv/data" } }

job "web-host-volume" {
  group "web" {
    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    volume "data" {
      type      = "host"
      source    = "data"
      read_only = true
    }

    task "server" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            test -d /data
            exec sleep infinity
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
