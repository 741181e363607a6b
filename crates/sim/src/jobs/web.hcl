# A web front end behind a dynamic port, spread over the datacenters.
job "web" {
  priority = 50

  group "web" {
    update {
      max_parallel = 2
      auto_revert  = true
    }

    spread {
      attribute = "${node.datacenter}"
      target "dc1" {
        percent = 50
      }
      target "dc2" {
        percent = 30
      }
      target "dc3" {
        percent = 20
      }
    }

    network {
      port "http" {}
    }

    service {
      name     = "${JOB}"
      provider = "nomad"
      port     = "http"
      check {
        type     = "http"
        path     = "/healthz"
        interval = "10s"
        timeout  = "2s"
      }
    }

    task "server" {
      driver = "docker"
      config {
        image = "registry.example/web:1"
        ports = ["http"]
      }
      resources {
        cpu    = 400
        memory = 384
      }
    }
  }
}
