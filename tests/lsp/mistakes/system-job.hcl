job "web" {
  type = "system"

  group "api" {
    count = 2

    reschedule {
      attempts = 1
      interval = "1h"
    }

    spread {
      attribute = "${node.datacenter}"
    }

    affinity {
      attribute = "${node.class}"
      value     = "large"
    }

    task "server" {
      driver = "docker"
    }
  }
}
