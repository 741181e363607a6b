# Report on demand: dispatched with its parameters.
# encamp job dispatch -meta customer=acme dispatch-report

job "dispatch-report" {
  type = "batch"

  parameterized {
    payload       = "forbidden"
    meta_required = ["customer"]
    meta_optional = ["format"]
  }

  meta {
    format = "pdf"
  }

  group "work" {
    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            echo "$NOMAD_META_format for $NOMAD_META_customer"
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
