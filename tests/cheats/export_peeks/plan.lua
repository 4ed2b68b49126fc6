-- Does the work in the export, from an input that holds garbage by then.
-- task: tests/candidates/layout/pairs.lua
-- verdict: wrong_result
-- reason: pairs
-- device: sim
return {
  kernel = "count",
  export = { kernel = "work", grid = "ceil_div(n, 128)", block = 128,
    args = { "x", "pairs", "n" } },
}
