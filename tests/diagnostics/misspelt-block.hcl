job "web" {
  group "api" {
    netwrok {
      port "http" {}
    }

    task "server" {
      drivr  = "docker"
      memory = 512

      config {
        image = "nginx:1.27"
      }

      resource {
        cpu = 200
      }
    }
  }
}
