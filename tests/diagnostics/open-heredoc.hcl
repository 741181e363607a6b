job "web" {
  group "api" {
    task "server" {
      driver = "docker"

      template {
        data        = <<EOT
        {{ range service "db" }}
        host = {{ .Address }}
        {{ end }}
        EOT, "x"
        destination = "local/db.conf"
      }
    }
  }
}
