job "checkout" {
  datacenters = ["dc1", "dc2"]
  priority    = 70

  group "api" {
    count = 12

    constraint {
      attribute = "${attr.kernel.name}"
      value     = "linux"
    }

    network {
      port "http" {}
    }

    task "server" {
      driver = "docker"

      config {
        image = "registry.example/checkout:3.1"
        ports = ["http"]
      }

      resources {
        cpu    = 1500
        memory = 2048
      }
    }
  }
}
