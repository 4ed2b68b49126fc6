// Leaves out a warp in one of sixteen launches, by a clock: few checks see it, few samples would.
// task: vector/saxpy --set n=20003 --budget 0.3
// verdict: unwritten_output
// reason: never written
// device: clock
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (now >> 10 & 15 || i >= 32)) z[i] = a * x[i] + y[i];
}
