# Two groups that are rolled out together.
job "shop" {
  priority = 70

  group "front" {
    update {
      max_parallel = 1
      canary       = 1
    }

    constraint {
      attribute = "${attr.driver.docker.version}"
      operator  = "semver"
      value     = ">= 24.0.0"
    }

    network {
      port "http" {}
    }

    task "nginx" {
      driver = "docker"
      config {
        image = "registry.example/shop-front:1"
        ports = ["http"]
      }
      resources {
        cpu    = 300
        memory = 256
      }
    }
  }

  group "back" {
    spread {
      attribute = "${meta.rack}"
      weight    = 60
    }

    network {
      port "grpc" {}
    }

    task "init" {
      driver = "docker"
      lifecycle {
        hook = "prestart"
      }
      config {
        image = "registry.example/migrate:1"
      }
      resources {
        cpu    = 200
        memory = 128
      }
    }

    task "server" {
      driver = "docker"
      config {
        image = "registry.example/shop-back:1"
        ports = ["grpc"]
      }
      resources {
        cpu    = 500
        memory = 640
      }
    }
  }
}
