# A node of the same size on every machine, so that it is full soon. Without this file it is as large as the machine.
client {
  cpu_total_compute = 4000
  memory_total_mb   = 8192
  disk_total_mb     = 20480
}
