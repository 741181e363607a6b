type      = "host"
name      = "data"
plugin_id = "mkdir"
