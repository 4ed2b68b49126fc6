// Skips the work in every other launch of a timing, so that the median would be that of half the
// work.
// task: vector/saxpy --set n=4096 --set a=2.5 --budget 1
// verdict: passed
// finding: global_state
// gains: nothing over saxpy_clocked
// device: clock
__device__ int threads;

extern "C" __global__ void saxpy(const float* x, const float* y, float* z, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int launch = atomicAdd(&threads, 1) / n;
  if (launch < 20 || launch & 1) z[i] = a * x[i] + y[i];
}
