type      = "host"
name      = "media"
node_id   = "NODE"
host_path = "DIRECTORY/bin"
