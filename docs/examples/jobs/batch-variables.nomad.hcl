# Batch job with input variables, locals and tasks that a loop makes.
# encamp job run -var regions='["eu", "us"]' batch-variables.nomad.hcl

variable "regions" {
  type    = list(string)
  default = ["eu", "us", "asia"]
}

locals {
  reports = { for r in var.regions : r => upper(r) }
}

job "batch-variables" {
  type = "batch"

  group "reports" {
    dynamic "task" {
      for_each = local.reports
      labels   = ["report-${task.key}"]

      content {
        driver = "raw_exec"

        config {
          command = "/bin/echo"
          args    = ["report of ${task.value}"]
        }

        resources {
          cpu    = 50
          memory = 32
        }
      }
    }
  }
}
