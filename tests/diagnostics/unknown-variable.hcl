variable "image_tag" {
  type    = string
  default = "1.27"
}

locals {
  名前 = "日本"
}

job "web" {
  group "api" {
    task "server" {
      driver = "docker"

      config {
        image = "日本/nginx:${var.imagetag}"
      }

      env {
        NAME = "日本語 ${local.name} ${uper("x")}"
      }
    }
  }
}
