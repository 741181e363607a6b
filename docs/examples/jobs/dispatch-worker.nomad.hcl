# Worker for one message: dispatched with the message as its payload.
# echo "message" | encamp job dispatch dispatch-worker -

job "dispatch-worker" {
  type = "batch"

  parameterized {
    payload = "required"
  }

  group "work" {
    task "main" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            cat "$NOMAD_TASK_DIR/message"
          EOT
        ]
      }

      dispatch_payload {
        file = "message"
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
