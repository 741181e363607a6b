# Checks the disks of the storage nodes once.
job "disk-scrub" {
  type     = "sysbatch"
  priority = 20

  constraint {
    attribute = "${node.class}"
    value     = "storage"
  }

  group "scrub" {
    task "scrub" {
      driver = "raw_exec"
      config {
        command = "/usr/sbin/scrub"
      }
      resources {
        cpu    = 200
        memory = 128
      }
    }
  }
}
