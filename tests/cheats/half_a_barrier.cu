// The lanes of a warp wait at different barriers, each for the whole warp.
// task: vector/saxpy --timeout 2
// verdict: launch_error
// reason: barrier in divergent code
// gpu: no: not seen there, or it hangs
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x & 1) asm volatile("bar.sync 0;" ::: "memory");
  if (i < n) z[i] = a * x[i] + y[i];
  asm volatile("bar.sync 0;" ::: "memory");
}
