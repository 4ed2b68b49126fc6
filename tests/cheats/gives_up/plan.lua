-- A loop that ends after its first round when it must be timing that runs.
-- task: graph/bfs --set graph=rmat --set scale=6 --budget 0.3
-- verdict: wrong_result
-- reason: depth
-- finding: global_state
-- device: clock
return {
  scratch = { done = { dtype = "i32", n = 1 } },
  kernel = { bfs = "void begin(int* depth, int n)",
    spread = "void spread(const int* first, const int* neighbour, int* depth, int* done, int n)" },
  launch = {
    { kernel = "begin", grid = "ceil_div(n, 256)", block = 256 },
    { repeat_until = "done", max = "n", steps = { { kernel = "spread", grid = 1, block = 256 } } },
  },
}
