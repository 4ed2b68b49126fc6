-- Keeps its result in scratch memory and hopes that it survives until the next launch.
-- task: vector/saxpy --set n=256
-- verdict: uninitialized_read
-- reason: never written
return {
  kernel = "void saxpy(const float* x, const float* y, float* z, float* memo, float a, int n)",
  scratch = { memo = { dtype = "f32", n = 257 } },
  launch = { grid = 1, block = 256 },
}
