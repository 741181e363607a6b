operators {
  x = a ? b : c
  y = !a && b || !c
  z = a + b- - c * (-1) / -2 % d
  w = a == b != (c >= -1)
  v = a.b - 1
  u = var.a[0].b["c"].*.d[*].e
  t = f(-1, -2, !a, "x")[0]
  s = "x" [0]
  r = a.* * 2
  q = var.a.0.b
  p = pack::fn(xs...)
  o = --1
  n = 1. 5
}
collections {
  empty     = []
  none      = {}
  nothing   = f()
  list      = [1, 2, 3, ]
  map       = { a = 1, "b" = 2, (c) = 3, d : 4 }
  nested    = [[], {}, [{ a = 1 }]]
  for_list  = [for x in [1, 2] : x if x > 1]
  for_map   = { for k, v in m : k => v... }
  for_minus = { for k, v in m : -k => - v }
  for_group = [for x in(y) : -x if(x)]
  for_in    = [for in in [1] : in[0]]
}
templates {
  a    = "a${var.b}c%{if var.x}y%{else}n%{endif}"
  b    = "a ${~var.b~} c %{~for x, y in var.z~} ${x} %{~endfor~}"
  c    = "a ${ { a = 1 } } ${[1]} ${- 1} ${!var.b} ${f("${var.c}")}"
  kept = "${attr.x} ${node.y[0]} ${attr.x~}"
  d    = "$${ not }  %%{ not }"
}
comments { /* in */ }
a /* 1 */ = /* 2 */ [/* 3 */ 4 /* 5 */, /* 6 */ 7] /* 8 */
b         = f(/* 1 */) - /* 2 */ 3
c /* 1 */ = /* 2 */ - /* 3 */ 4
d         = var./* 1 */ b /* 2 */.c
