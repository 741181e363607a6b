path = "nomad/jobs/web"

items {
  user     = "app"
  password = "new"
}
