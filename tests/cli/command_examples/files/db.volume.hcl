type      = "host"
name      = "db"
plugin_id = "mkdir"
