# A CSI volume: storage of a provider, reached through a storage plugin.

type = "csi"

# The ID by which jobs refer to the volume, and a name for the provider.
id   = "database"
name = "database"

# The storage plugin.
plugin_id = "ebs"

# The size that is requested of the provider.
capacity_min = "10GiB"
capacity_max = "20GiB"

# How jobs may use the volume.
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

# How the volume is mounted by default.
mount_options {
  fs_type     = "ext4"
  mount_flags = ["noatime"]
}

# From where the volume has to be accessible.
topology_request {
  required {
    topology {
      segments {
        rack = "R1"
      }
    }
  }
}

# Parameters of the provider.
parameters {
  kind = "ssd"
}
