# Moves data at night.
job "etl" {
  type     = "batch"
  priority = 30

  group "load" {
    ephemeral_disk {
      size = 1000
    }

    task "load" {
      driver = "docker"
      config {
        image = "registry.example/etl:1"
      }
      resources {
        cpu    = 900
        memory = 1024
      }
    }
  }
}
