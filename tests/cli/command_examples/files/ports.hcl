ports {
  http = 0
  rpc  = 0
  serf = 0
}
