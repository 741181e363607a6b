job "shop" {
  group "api" {
    task "server" {
      driver = "docker"

      config {
        image = "registry.example/shop:1"
      }

      env {
        LEVEL        = "info"
        DB_PASSWORD  = "hunter2"
        DATABASE_URL = "postgres://shop:hunter2@db.example:5432/shop"
        VAULT        = "hvs.CAESIMadeUpForTests000000"
      }

      template {
        destination = "${NOMAD_SECRETS_DIR}/server.key"
        data        = <<EOT
-----BEGIN PRIVATE KEY-----
MadeUpForTestsMadeUpForTestsMadeUpForTests
-----END PRIVATE KEY-----
EOT
      }
    }
  }
}
