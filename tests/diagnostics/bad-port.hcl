job "web" {
  group "api" {
    network {
      port "http" {
        static = 80800
      }

      port "admin" {
        static = 9000
        to     = 70000
      }

      port "metrics" {
        static = 9000
      }
    }

    task "server" {
      driver = "docker"
    }
  }
}
