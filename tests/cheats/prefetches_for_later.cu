// Fetches its inputs into the L2 cache once more when it has used them, for the next run.
// task: vector/saxpy --set n=2097152 --budget 0.5
// verdict: passed
// gains: nothing over saxpy_large
// device: gpu
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __stcs(&z[i], a * x[i] + y[i]);
  asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(x + i));
  asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(y + i));
}
