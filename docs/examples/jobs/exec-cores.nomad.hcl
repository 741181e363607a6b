# Batch job that has a CPU core of its own.
# resources has cores instead of cpu; no other task of exec or docker runs on the core.

job "exec-cores" {
  type = "batch"

  group "work" {
    task "main" {
      driver = "exec"

      config {
        command = "/bin/sh"
        args = [
          "-c",
          <<-EOT
            echo "reserved: $NOMAD_CPU_CORES"
            grep Cpus_allowed_list /proc/self/status
          EOT
        ]
      }

      resources {
        cores  = 1
        memory = 64
      }
    }
  }
}
