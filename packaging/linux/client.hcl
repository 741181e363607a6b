# Configuration of encamp-client.service. All lines are comments: a node starts once the block `client` is enabled.
# `encamp config validate /etc/encamp/client.hcl` checks this file. Afterwards:
#
#   systemctl enable --now encamp-client

# region     = "global"
# datacenter = "dc1"
# data_dir   = "/var/lib/encamp/client"

# client {
#   enabled = true
#   server_join {
#     retry_join = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
#   }
# }

# plugin "raw_exec" {
#   config {
#     enabled = true
#   }
# }

# A server on the same machine uses the default ports already.
# ports {
#   http = 4656
# }
