# A shop: web server, API, worker and cache, about as long as job files of production get.
variable "datacenters" {
  type        = list(string)
  default     = ["fra1", "ams1"]
  description = "Where the shop runs"
}

variable "image_tag" {
  type    = string
  default = "1.42.0"

  validation {
    condition     = var.image_tag != "latest"
    error_message = "Deploy a version, not latest."
  }
}

variable "api_count" {
  type    = number
  default = 4
}

variable "log_level" {
  type    = string
  default = "info"
}

locals {
  registry = "registry.example/shop"
  domains  = ["shop.example", "www.shop.example"]
  common = {
    LOG_LEVEL  = var.log_level
    LOG_FORMAT = "json"
    REGION     = "${NOMAD_REGION}"
  }
  routes = [for d in local.domains : "traefik.http.routers.shop.rule=Host(`${d}`)"]
}

job "shop" {
  datacenters = var.datacenters
  type        = "service"
  priority    = 60

  meta {
    owner   = "team-shop"
    version = var.image_tag
  }

  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }

  constraint {
    attribute = "${attr.driver.docker.version}"
    operator  = "version"
    value     = ">= 24.0"
  }

  spread {
    attribute = "${node.datacenter}"

    target "fra1" {
      percent = 60
    }

    target "ams1" {
      percent = 40
    }
  }

  update {
    max_parallel      = 2
    min_healthy_time  = "15s"
    healthy_deadline  = "5m"
    progress_deadline = "15m"
    auto_revert       = true
    canary            = 1
  }

  group "web" {
    count = 3

    network {
      mode = "bridge"

      port "http" {
        to = 8080
      }

      port "metrics" {
        to = 9100
      }
    }

    restart {
      attempts = 3
      interval = "10m"
      delay    = "20s"
      mode     = "delay"
    }

    service {
      name = "web"
      port = "http"
      tags = concat(local.routes, ["web", "v${replace(var.image_tag, ".", "-")}"])

      check {
        name     = "alive"
        type     = "http"
        path     = "/health"
        interval = "10s"
        timeout  = "2s"

        check_restart {
          limit = 3
          grace = "60s"
        }
      }
    }

    task "web" {
      driver = "docker"

      config {
        image = "${local.registry}/web:${var.image_tag}"
        ports = ["http", "metrics"]

        labels = {
          team = "shop"
        }
      }

      env {
        LOG_LEVEL = local.common.LOG_LEVEL
        REGION    = local.common.REGION
        LISTEN    = "0.0.0.0:${NOMAD_PORT_http}"
      }

      template {
        destination = "secrets/web.env"
        env         = true
        change_mode = "restart"
        data        = <<-END
          {{ with nomadVar "nomad/jobs/shop/web" }}
          DB_URL={{ .db_url }}
          DB_POOL={{ .db_pool }}
          {{ end }}
        END
      }

      resources {
        cpu    = 500
        memory = 512
      }
    }
  }

  group "api" {
    count = var.api_count

    network {
      mode = "bridge"

      port "http" {
        to = 9000
      }

      port "metrics" {
        to = 9100
      }
    }

    restart {
      attempts = 3
      interval = "10m"
      delay    = "20s"
      mode     = "delay"
    }

    service {
      name = "api"
      port = "http"
      tags = concat(local.routes, ["api", "v${replace(var.image_tag, ".", "-")}"])

      check {
        name     = "alive"
        type     = "http"
        path     = "/health"
        interval = "10s"
        timeout  = "2s"

        check_restart {
          limit = 3
          grace = "60s"
        }
      }
    }

    task "api" {
      driver = "docker"

      config {
        image = "${local.registry}/api:${var.image_tag}"
        ports = ["http", "metrics"]

        labels = {
          team = "shop"
        }
      }

      env {
        LOG_LEVEL = local.common.LOG_LEVEL
        REGION    = local.common.REGION
        LISTEN    = "0.0.0.0:${NOMAD_PORT_http}"
      }

      template {
        destination = "secrets/api.env"
        env         = true
        change_mode = "restart"
        data        = <<-END
          {{ with nomadVar "nomad/jobs/shop/api" }}
          DB_URL={{ .db_url }}
          DB_POOL={{ .db_pool }}
          {{ end }}
        END
      }

      resources {
        cpu    = 500
        memory = 512
      }
    }
  }

  group "worker" {
    count = max(2, var.api_count / 2)

    network {
      mode = "bridge"

      port "http" {
        to = 9200
      }

      port "metrics" {
        to = 9100
      }
    }

    restart {
      attempts = 3
      interval = "10m"
      delay    = "20s"
      mode     = "delay"
    }

    service {
      name = "worker"
      port = "http"
      tags = concat(local.routes, ["worker", "v${replace(var.image_tag, ".", "-")}"])

      check {
        name     = "alive"
        type     = "http"
        path     = "/health"
        interval = "10s"
        timeout  = "2s"

        check_restart {
          limit = 3
          grace = "60s"
        }
      }
    }

    task "worker" {
      driver = "docker"

      config {
        image = "${local.registry}/worker:${var.image_tag}"
        ports = ["http", "metrics"]

        labels = {
          team = "shop"
        }
      }

      env {
        LOG_LEVEL = local.common.LOG_LEVEL
        REGION    = local.common.REGION
        LISTEN    = "0.0.0.0:${NOMAD_PORT_http}"
      }

      template {
        destination = "secrets/worker.env"
        env         = true
        change_mode = "restart"
        data        = <<-END
          {{ with nomadVar "nomad/jobs/shop/worker" }}
          DB_URL={{ .db_url }}
          DB_POOL={{ .db_pool }}
          {{ end }}
        END
      }

      resources {
        cpu    = 500
        memory = 512
      }

      kill_timeout = "60s"

      logs {
        max_files     = 5
        max_file_size = 20
      }
    }
  }
}
