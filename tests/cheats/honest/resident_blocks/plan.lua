-- Blocks that wait for each other by flags in both directions, few enough to be on the GPU at once,
-- in a launch that does not say cooperative.
-- task: reduce/sum --set n=255,20003
-- verdict: passed
return {
  kernel = "void reduce_sum(const float* x, float* y, float* part, unsigned* arrived, int n)",
  scratch = { part = { dtype = "f32", n = 32 }, arrived = { dtype = "u32", n = 1, init = 0 } },
  launch = { grid = 32, block = 128 },
}
