# A message queue that keeps its messages on a host volume.
job "queue" {
  priority = 75

  group "broker" {
    volume "scratch" {
      type   = "host"
      source = "scratch"
    }

    network {
      port "amqp" {}
    }

    task "broker" {
      driver = "docker"
      volume_mount {
        volume      = "scratch"
        destination = "/data"
      }
      config {
        image = "registry.example/queue:1"
        ports = ["amqp"]
      }
      resources {
        cpu    = 500
        memory = 1536
      }
    }
  }
}
