# Database that keeps its volume: the group claims a dynamic host volume, and is always placed where that is.
# First create it: encamp volume init -type host, set the name to "database", encamp volume create volume.hcl

job "database-volume-claim" {
  group "database" {
    volume "data" {
      type            = "host"
      source          = "database"
      sticky          = true
      access_mode     = "single-node-writer"
      attachment_mode = "file-system"
    }

    update {
      max_parallel     = 1
      min_healthy_time = "5s"
      health_check     = "task_states"
    }

    task "server" {
      driver = "exec"

      kill_timeout = "30s"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            echo start >> /data/journal
            echo "starts with this volume: $(wc -l < /data/journal)"
            exec sleep infinity
          EOT
        ]
      }

      volume_mount {
        volume      = "data"
        destination = "/data"
      }

      resources {
        cpu    = 100
        memory = 64
      }
    }
  }
}
