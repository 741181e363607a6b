namespace "default" {
  policy = "write"
}

node {
  policy = "read"
}
