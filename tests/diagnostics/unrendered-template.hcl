job [[ template "job_name" . ]] {
  datacenters = [[ .dcs | toStringList ]]

  group "web" {
    count = [[ .count ]]
  }
}
