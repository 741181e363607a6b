type      = "host"
name      = "srv"
node_id   = "NODE"
host_path = "DIRECTORY/bin"
