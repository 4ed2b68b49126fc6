-- Does all the work in the export, and declares scratch for nothing but to make that look small.
-- task: hash/insert --set probing=linear --set n=2000,16777216 --set load=0.9
-- verdict: cheat
-- reason: the untimed export took
-- device: gpu
return {
  scratch = { copy = { dtype = "u64", n = "n" }, pad = { bytes = 1 << 31 } },
  launch = { { copy = { "copy", "keys" } } },
  export = { kernel = "late", grid = "ceil_div(n, 256)", block = 256,
    args = { "copy", "table", "n", "slots" } },
}
