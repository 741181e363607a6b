# Batch job with input that is downloaded before it starts.
# Add checksum = "sha256:..." to the options to be sure what it is.

variable "source" {
  type        = string
  default     = "https://example.com/index.html"
  description = "The address of the input."
}

job "batch-artifact" {
  type = "batch"

  group "work" {
    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            wc -c local/input/*
          EOT
        ]
      }

      artifact {
        source      = var.source
        destination = "local/input"
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
