job "web" {
  group "api" {
  }
}
