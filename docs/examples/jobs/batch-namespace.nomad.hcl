# Batch job in a namespace, a node pool and a datacenter of your choice.
# encamp namespace apply reports
# encamp job run -var namespace=reports batch-namespace.nomad.hcl

variable "namespace" {
  type    = string
  default = "default"
}

variable "node_pool" {
  type    = string
  default = "default"
}

variable "datacenters" {
  type        = list(string)
  default     = ["*"]
  description = "Names of datacenters, which may have wildcards."
}

job "batch-namespace" {
  type        = "batch"
  namespace   = var.namespace
  node_pool   = var.node_pool
  datacenters = var.datacenters

  group "work" {
    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            echo "namespace $NOMAD_NAMESPACE, datacenter $NOMAD_DC"
          EOT
        ]
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
