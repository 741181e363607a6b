# An example job: two copies of a small web server with a health check.
#
# Look at what it would do with   encamp job plan -snapshot FILE example.nomad.hcl
# and check it offline with       encamp job validate example.nomad.hcl

# Values that can be set from outside: -var greeting=hi, a -var-file, or the environment variable NOMAD_VAR_greeting.
variable "greeting" {
  type    = string
  default = "hello"
}

# The label is the id of the job. Registering a job with the same id again updates it.
job "example" {
  # service: keeps running. batch: runs to its end. system and sysbatch: the same, once on every node.
  type = "service"

  # Where the job may run. "*" is every datacenter.
  datacenters = ["*"]

  # How changes are rolled out: one allocation at a time, each healthy for ten seconds before the next one. A rollout
  # that is not done in time goes back to the last version that was healthy.
  update {
    max_parallel     = 1
    min_healthy_time = "10s"
    healthy_deadline = "3m"
    auto_revert      = true
  }

  # A group is a set of tasks that are placed on the same node. Each of its count copies is an allocation.
  group "web" {
    count = 2

    # Ports are the group's. Without "static" a free one is chosen; tasks see it as NOMAD_PORT_http.
    network {
      port "http" {}
    }

    # How others find the allocations of this group, and how their health is known.
    service {
      name     = "example-web"
      port     = "http"
      provider = "nomad"

      check {
        type     = "http"
        path     = "/"
        interval = "10s"
        timeout  = "2s"
      }
    }

    # A failed task is started again up to twice within half an hour; then the allocation is replaced elsewhere.
    restart {
      attempts = 2
      interval = "30m"
      delay    = "15s"
      mode     = "fail"
    }

    # Disk space that the tasks of an allocation share, in MB.
    ephemeral_disk {
      size = 300
    }

    task "server" {
      # What runs the task on the node. The config block is the driver's own.
      driver = "exec"

      config {
        command = "/usr/bin/python3"
        args    = ["-m", "http.server", "--directory", "${NOMAD_TASK_DIR}", "${NOMAD_PORT_http}"]
      }

      # Files that are made from a template before the task starts.
      template {
        data        = "${var.greeting} from {{ env \"NOMAD_ALLOC_ID\" }}\n"
        destination = "local/index.html"
      }

      # Time to finish requests after the service is taken out and before the task is stopped.
      shutdown_delay = "2s"

      # What the scheduler reserves: MHz and MB.
      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
