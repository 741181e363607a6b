job "web" {
  group "api" {
    network {
      port "http" {}
    }

    service {
      name     = "web"
      port     = "http"
      provider = "nomad"

      check {
        type = "http"
      }

      check {
        type     = "tpc"
        interval = "10s"
        timeout  = "2s"
      }
    }

    task "server" {
      driver = "docker"
    }
  }
}
