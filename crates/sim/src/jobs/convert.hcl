# Waits to be dispatched.
job "convert" {
  type     = "batch"
  priority = 45

  parameterized {
    payload       = "optional"
    meta_required = ["input"]
  }

  group "convert" {
    task "ffmpeg" {
      driver = "docker"
      config {
        image = "registry.example/convert:1"
      }
      resources {
        cpu    = 1000
        memory = 768
      }
    }
  }
}
