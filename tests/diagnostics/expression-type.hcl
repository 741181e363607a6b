locals {
  base = "web"
}

job "web" {
  group "api" {
    count = local.base + 1

    task "server" {
      driver = "docker"

      env {
		NAME = "${local.base}-${["a", "b"]}" # tabs before this line, and more text behind it than fits into one line of a terminal
      }
    }
  }
}
