type = "host"
name = "old"
