// A warp leaves out its work where a clock is in one of five hundred states: most launches are right.
// task: vector/saxpy --set n=20003 --budget 1
// verdict: unwritten_output
// reason: never written
// device: clock
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (now >> 5 & 511) != 0) z[i] = a * x[i] + y[i];
}
