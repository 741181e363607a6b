# Neighbours share a column.
a     = 1
bbbbb = 2
ccc   = "x"

dd = 3
# A comment ends the group.
eeee = 4
list = [
  1,
]
f   = 5
ggg = 6
block {
  a  = 1     # one
  bb = "two" // two
  ccc = f(a, # of several lines
  b)         # end

  /* first */ d = 1 /* not at the end */ # end
  eeeeeee       = 2 /* stays where it is */
  f             = 3 # next
  # whole line
  g = 4   # after
  h {     # opening
    i = 5 # inside
  }       # closing
  j {}    # k
}
one { x = 1 }
three = 3
four  = { a = 1, bb = 2 }
object = {
  a    = 1
  (b)  = 2
  "cc" = 3
  d.e  = 4
  f : 5
  ggg : 6
  h = 7, iii = 8
}
heredoc = <<EOT
a = 1
bbb = 2
EOT
x       = 1
call = f(<<EOT
  text
EOT
)         # comment
y  = 1    # other
é  = 1    # x
z  = "日本" # two clusters
ab = "e⃗"  # one cluster
