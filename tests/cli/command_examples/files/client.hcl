data_dir  = "DIRECTORY/client"
bind_addr = "127.0.0.1"
