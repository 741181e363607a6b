# A dynamic host volume: storage of one node, made by a plugin.

type = "host"

# The name by which jobs refer to the volume; unique on its node.
name = "data"

# The plugin that creates the volume. Every node has "mkdir", which creates a
# directory; programs in the plugin directory of a node are further ones.
plugin_id = "mkdir"

# The node or the node pool to create the volume on. The first suitable node of
# the cluster if both are left out.
# node_id   = "f7476465-4d6e-c0de-26d0-e383c49be941"
# node_pool = "default"

# The size that is requested of plugins that can bound it.
capacity_min = "1GiB"
capacity_max = "2GiB"

# How jobs may use the volume.
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

# The nodes on which the volume may be created.
constraint {
  attribute = "${attr.kernel.name}"
  value     = "linux"
}

# Parameters of the plugin.
parameters {
  mode = "0755"
}
