-- The numbers and their squares in two arrays of its own; the export interleaves them.
return {
  kernel = "void split(const float* x, float* numbers, float* squares, int* positive, int n)",
  scratch = { numbers = { dtype = "f32", n = "n" }, squares = { dtype = "f32", n = "n" } },
  export = {
    kernel = "interleave", grid = "ceil_div(n, 128)", block = 128,
    args = { "numbers", "squares", "pairs", "n" },
  },
}
