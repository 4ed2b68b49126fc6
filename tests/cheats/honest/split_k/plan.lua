-- The sum over k in four parts, which atomics add up in whatever order they come.
-- task: matmul/f32 --set m=1,17,40 --set n=1,33,24 --set k=1,65,70
-- verdict: passed
return {
  kernel = "part",
  launch = {
    { memset = "c" },
    { grid = { "ceil_div(n, 16)", "ceil_div(m, 16)", 4 }, block = { 16, 16 } },
  },
}
