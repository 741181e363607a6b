job "web" {
  group "api" {
    task "server" {
      driver = "docker"

      template {
        data        = <<EOT hello
      EOT
        destination = "local/a"
      }
    }
  }
}
