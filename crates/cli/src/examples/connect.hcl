# An example job for a Consul service mesh: a dashboard that reaches an API through a sidecar proxy.
#
# Look at what it would do with   encamp job plan -snapshot FILE example.nomad.hcl

job "example-mesh" {
  datacenters = ["*"]

  group "api" {
    # A mesh service needs a network of its own in the group.
    network {
      mode = "bridge"
    }

    service {
      name = "example-api"
      port = "9001"

      # Adds a proxy task to the group that takes the connections of other services.
      connect {
        sidecar_service {}
      }
    }

    task "api" {
      driver = "docker"

      config {
        image = "registry.example/api:1"
      }
    }
  }

  group "dashboard" {
    network {
      mode = "bridge"

      port "http" {
        static = 9002
        to     = 9002
      }
    }

    service {
      name = "example-dashboard"
      port = "9002"

      connect {
        sidecar_service {
          proxy {
            # The API is reached at localhost:8080 inside this group.
            upstreams {
              destination_name = "example-api"
              local_bind_port  = 8080
            }
          }
        }
      }
    }

    task "dashboard" {
      driver = "docker"

      env {
        API_URL = "http://${NOMAD_UPSTREAM_ADDR_example_api}"
      }

      config {
        image = "registry.example/dashboard:1"
      }
    }
  }
}
