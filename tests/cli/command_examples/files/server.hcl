data_dir  = "DIRECTORY/server"
bind_addr = "127.0.0.1"

server {
  enabled          = true
  bootstrap_expect = 1
}
