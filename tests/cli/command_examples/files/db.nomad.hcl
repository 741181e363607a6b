job "db" {
  group "db" {
    volume "data" {
      type            = "host"
      source          = "db"
      sticky          = true
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
    }

    task "db" {
      driver = "raw_exec"

      config {
        command = "sleep"
        args    = ["3600"]
      }

      resources {
        cpu    = 50
        memory = 32
      }
    }
  }
}
