# An agent with an audit log: docs/guide/audit.md. Use it with the configuration of a server or a node:
#   encamp agent -config server.hcl -config fixtures/audit/agent.hcl
audit {
  enabled = true

  sink "file" {
    type               = "file"
    delivery_guarantee = "enforced"
    format             = "json"
    path               = "/var/log/encamp/audit.log"
    rotate_bytes       = "100MB"
    rotate_duration    = "24h"
    rotate_max_files   = 30
    mode               = "0600"
  }

  # Monitoring asks all the time.
  filter "monitoring" {
    type       = "HTTPEvent"
    endpoints  = ["/v1/metrics", "/v1/agent/health", "/v1/status/*"]
    stages     = ["*"]
    operations = ["GET"]
  }

  # Of reads, one row is enough.
  filter "reads" {
    type       = "HTTPEvent"
    endpoints  = ["*"]
    stages     = ["OperationReceived"]
    operations = ["GET"]
  }
}
