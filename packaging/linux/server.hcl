# Configuration of encamp-server.service. All lines are comments: a server starts once the block `server` is enabled.
# `encamp config validate /etc/encamp/server.hcl` checks this file. Afterwards:
#
#   systemctl enable --now encamp-server

# region     = "global"
# datacenter = "dc1"
# data_dir   = "/var/lib/encamp/server"

# server {
#   enabled          = true
#   bootstrap_expect = 3
#   server_join {
#     retry_join = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
#   }
# }

# acl {
#   enabled = true
# }

# tls {
#   http      = true
#   rpc       = true
#   ca_file   = "/etc/encamp/ca.pem"
#   cert_file = "/etc/encamp/server.pem"
#   key_file  = "/etc/encamp/server-key.pem"
# }
