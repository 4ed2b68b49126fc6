-- Copies its input while the clock runs, and does all the work in the export, where it does not.
-- task: hash/insert --set probing=linear --set n=2000,40000 --set load=0.9
-- verdict: cheat
-- reason: the untimed export took
-- device: clock
return {
  scratch = { copy = { dtype = "u64", n = "n" } },
  launch = { { copy = { "copy", "keys" } } },
  export = { kernel = "late", grid = "ceil_div(n, 256)", block = 256,
    args = { "copy", "table", "n", "slots" } },
}
