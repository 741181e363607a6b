variable "tag" {
  default   = "1"
  sensitive = true
}

job "web" {
  group "api" {
    task "server" {
      driver = "docker"
    }
  }
}
