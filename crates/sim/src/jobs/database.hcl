# A database on a host volume and a fixed port.
job "database" {
  priority = 85

  constraint {
    attribute = "${meta.ssd}"
    value     = "true"
  }

  group "db" {
    constraint {
      operator = "distinct_hosts"
      value    = "true"
    }

    volume "data" {
      type   = "host"
      source = "data"
    }

    ephemeral_disk {
      size   = 2000
      sticky = true
    }

    network {
      port "sql" {
        static = 5432
      }
    }

    task "postgres" {
      driver       = "docker"
      kill_timeout = "30s"
      volume_mount {
        volume      = "data"
        destination = "/var/lib/postgresql"
      }
      config {
        image = "registry.example/postgres:1"
        ports = ["sql"]
      }
      resources {
        cpu    = 1500
        memory = 4096
      }
    }
  }
}
