// Does the work in one of two launches, by the parity of a clock.
// task: vector/saxpy --set n=1,3,32,100,255,256
// verdict: unwritten_output
// reason: never written
// finding: clock
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  __shared__ long long now;
  if (threadIdx.x == 0) asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  __syncthreads();
  int i = threadIdx.x;
  if (i < n && __popcll(now >> 5) & 1) z[i] = a * x[i] + y[i];
}
