# A variable holds values for tasks and people, encrypted on the servers.

# Where it is: letters, digits, and the characters - _ ~ /
path = "path/to/variable"

# The namespace it belongs to. That of the flags or the environment if it is
# left out.
# namespace = "default"

# The values. Keys of letters, digits and underscores can be used directly in
# templates.
items {
  key1 = "value 1"
  key2 = "value 2"
}
