# A node pool is a named set of nodes. Nodes say in their configuration which
# pool they belong to; jobs say which pool they run in.
node_pool "example" {

  # What the pool is for.
  description = "Example node pool"

  # How long the identities of the pool's nodes are valid.
  node_identity_ttl = "24h"

  # Free keys and values.
  meta {
    environment = "prod"
    owner       = "sre"
  }
}
