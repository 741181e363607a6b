job "web" {
  group "api" {
    constraint {
      attribute = "${attr.kernel.name}"
      operator  = "is_set"
      value     = "x"
    }

    affinity {
      attribute = "${node.class}"
      value     = "large"
      weight    = 200
    }

    volume "data" {
      type   = "hots"
      source = "data"
    }

    task "server" {
      driver = "docker"
    }
  }
}
