name        = "prod"
description = "Production"
