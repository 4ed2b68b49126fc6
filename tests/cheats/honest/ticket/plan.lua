-- Blocks that take tickets from a global variable; the last one adds up and puts it back to 0.
-- task: reduce/sum --set n=1,255,20003
-- verdict: passed
return {
  kernel = "void reduce_sum(const float* x, float* y, float* part, int n)",
  scratch = { part = { dtype = "f32", n = 16 } },
  launch = { grid = 16, block = 256 },
}
