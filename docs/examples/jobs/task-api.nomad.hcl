# Batch job that asks the HTTP API, by the socket in its directory of secrets and with its own token.
# The token may list services and read the variables of the job; a policy gives more.

job "task-api" {
  type = "batch"

  group "work" {
    task "main" {
      driver = "raw_exec"

      identity {
        env = true
      }

      config {
        command = "/usr/bin/env"
        args = [
          "python3",
          "-c",
          <<-EOT
            import http.client, os, socket

            api = http.client.HTTPConnection("localhost")
            api.sock = socket.socket(socket.AF_UNIX)
            api.sock.connect(os.environ["NOMAD_SECRETS_DIR"] + "/api.sock")
            token = {"Authorization": "Bearer " + os.environ["NOMAD_TOKEN"]}
            api.request("GET", "/v1/services", headers=token)
            print("services:", api.getresponse().read().decode())
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
