node_pool "gpu" {
  description = "Nodes with GPUs"
}
