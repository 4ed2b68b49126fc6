-- Counts in the export what the run should have counted.
return {
  kernel = "void keep(const float* x, float* numbers, int n)",
  scratch = { numbers = { dtype = "f32", n = "n" } },
  export = { kernel = "all", grid = "ceil_div(n, 128)", block = 128,
    args = { "numbers", "pairs", "positive", "n" } },
}
