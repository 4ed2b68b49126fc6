-- Takes so much memory, for scratch that it does not need, that no other inputs would have room: so answers
-- that it keeps would never be wrong or late.
-- task: vector/saxpy --set n=1000,4096
-- verdict: launch_error
-- reason: scratch leaves no room for inputs
-- gpu: no: it has room for so much
-- device: clock
return {
  scratch = { room = { dtype = "f32", n = "n == 4096 and 1 << 26 or 1", init = 0 } },
  kernel = "void saxpy(const float* x, const float* y, float* z, float* room, float a, int n)",
  launch = { grid = "(n + 255) // 256", block = 256 },
}
