autoscaling {
  cluster_interval = "30s"
}
