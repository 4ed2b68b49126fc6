// Waits at a barrier for more threads than the block has.
// task: vector/saxpy --timeout 2
// verdict: timeout
// reason: barrier
// gpu: timeout
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  asm volatile("bar.sync 1, 512;" ::: "memory");
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i];
}
