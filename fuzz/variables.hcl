# The job that the fuzzers give values to.
variable "any" {
  default = null
}

variable "text" {
  type    = string
  default = "redis:7"
}

variable "number" {
  type    = number
  default = 1
}

variable "bool" {
  type    = bool
  default = true
}

variable "texts" {
  type    = list(string)
  default = ["dc1"]
}

variable "numbers" {
  type    = map(number)
  default = { http = 80 }
}

variable "pair" {
  type    = tuple([string, number])
  default = ["a", 1]
}

variable "set" {
  type    = set(string)
  default = ["x"]
}

variable "object" {
  type    = object({ name = string, size = number, tags = list(string) })
  default = { name = "data", size = 10, tags = [] }
}

variable "objects" {
  type    = list(object({ name = string, port = number }))
  default = [{ name = "http", port = 8080 }]
}

variable "nested" {
  type    = map(map(list(string)))
  default = {}
}

variable "checked" {
  type    = string
  default = "blue"

  validation {
    condition     = contains(["blue", "green"], var.checked) || regex_replace(var.checked, "^[a-z]+-[0-9]{1,4}$", "") == ""
    error_message = "A colour, or a name and a number."
  }
}

variables {
  short = "x"
}

locals {
  ports = { for o in var.objects : o.name => o.port... }
  label = join("-", var.texts, [for t in var.set : upper(t)])
  total = try(var.pair[1] + var.number, 0)
}

job "fuzz" {
  datacenters = var.texts
  type        = var.bool ? "service" : "batch"

  meta {
    any    = jsonencode(var.any)
    nested = jsonencode(var.nested)
    label  = local.label
    total  = "${local.total}"
    short  = "${var.short}-${var.checked}"
  }

  group "g" {
    count = var.number

    network {
      dynamic "port" {
        for_each = var.objects
        labels   = [port.value.name]
        content {
          static = port.value.port
        }
      }
    }

    task "t" {
      driver = "docker"

      config {
        image  = var.text
        labels = [for k, v in var.numbers : format("%s=%d", k, v)]
        any    = var.any
      }

      env {
        OBJECT = "${var.object.name}-${length(var.object.tags)}-${var.object.size}"
        PORTS  = join(",", keys(local.ports))
      }
    }
  }
}
