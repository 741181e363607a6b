block "a" "b" {
  // tab


  inner {
    /* several
     lines */
    x = [[
      1, {
        a = 1
        }, {
        b = 2
    }]]
    y = [[
      [
        1
      ]]
    ]
    z = f({
      a = 1
      }, [
      2,
    ])
    v = ((
      a
    ))
    w = (a
      && b
    -c)
  }
}
string = "a ${
  b
  } c ${f(
d)}"
list = [
  1,
2]
last = a ? {
  b = 1
  } : {
  c = 2
}
