# An API with a side-car that ships its logs; bridge network, two ports.
job "api" {
  priority = 60

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  affinity {
    attribute = "${node.class}"
    value     = "general"
    weight    = 50
  }

  group "api" {
    update {
      max_parallel = 3
    }

    network {
      mode = "bridge"
      port "http" {
        to = 8080
      }
      port "metrics" {
        to = 9102
      }
    }

    service {
      name     = "${JOB}"
      provider = "nomad"
      port     = "http"
      tags     = ["internal"]
    }

    task "api" {
      driver = "docker"
      config {
        image = "registry.example/api:1"
        ports = ["http", "metrics"]
      }
      env {
        GOMAXPROCS = "2"
      }
      resources {
        cpu    = 700
        memory = 768
      }
    }

    task "logs" {
      driver = "docker"
      lifecycle {
        hook    = "prestart"
        sidecar = true
      }
      config {
        image = "registry.example/logs:3"
      }
      resources {
        cpu    = 60
        memory = 64
      }
    }
  }
}
