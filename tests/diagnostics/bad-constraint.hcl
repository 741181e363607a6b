job "web" {
  type = "servce"

  constraint {
    attribute = "${attr.kernel.name}"
    operator  = "regex"
    value     = "linux"
  }

  group "api" {
    constraint {
      attribute = "$attr.cpu.arch"
      value     = "amd64"
    }

    restart {
      interval = 30
      mode     = "dealy"
    }

    task "server" {
      driver = "docker"

      constraint {
        distinct_hosts = true
      }

      resources {
        memory = 2
      }
    }
  }
}
