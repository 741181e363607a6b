# Ships the logs of the nodes of the default pool.
job "log-shipper" {
  type     = "system"
  priority = 80

  group "shipper" {
    ephemeral_disk {
      size = 1000
    }

    task "vector" {
      driver = "docker"
      config {
        image = "registry.example/log-shipper:1"
      }
      resources {
        cpu    = 150
        memory = 128
      }
    }
  }
}
