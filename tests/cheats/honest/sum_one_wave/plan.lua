-- A sum by one block for each multiprocessor; what keeps sums there is set beside it.
-- task: reduce/sum --budget 0.3
-- verdict: passed
-- device: gpu
return {
  launch = {
    { memset = "y", byte = 0 },
    { kernel = "sum", grid = 132, block = 1024, args = { "x", "y", "n" } },
  },
}
