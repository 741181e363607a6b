# Takes work from a queue; no network.
job "worker" {
  priority = 40

  group "worker" {
    ephemeral_disk {
      size = 500
    }

    task "worker" {
      driver = "docker"
      config {
        image = "registry.example/worker:1"
      }
      resources {
        cpu    = 600
        memory = 512
      }
    }
  }
}
