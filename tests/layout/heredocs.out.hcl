a {
  b = <<EOT
  kept = 1   # kept
   ${var.x + 1} %{if y} ${local.z} ${attr.kept} %{endif}
EOT
  c = <<-EOT
      kept
      EOT
  d = [<<A
 one
A
    , <<B
 two
B
  ]
  e = {
    f  = <<EOT

EOT
    gg = 1
  }
  h {
    i = <<EOT
${f(
    x,
  y)} ${
  z
} end
EOT
j = 1
}
k = 1
}
