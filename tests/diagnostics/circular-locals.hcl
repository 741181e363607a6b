locals {
  name   = "${local.prefix}-web"
  prefix = upper(local.team)
  team   = substr(local.name, 0, 3)
}

job "web" {
  group "api" {
    task "server" {
      driver = "docker"
    }
  }
}
