job "web" {
  group "api" {
    task "server" {
    }
  }
}
