# Task that asks the name servers of your choice, in a network of its own.
# Tasks of exec and docker find them in /etc/resolv.conf. Nodes need the plugins of the CNI project.

job "exec-name-servers" {
  group "work" {
    network {
      mode = "bridge"

      dns {
        servers  = ["192.0.2.53", "192.0.2.54"]
        searches = ["internal.example.com"]
        options  = ["timeout:2"]
      }
    }

    task "main" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            cat /etc/resolv.conf
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
