// A long sum by atomics, another order in every run.
// task: museum/long_sum --set n=1,1000,20011
// verdict: passed
extern "C" __global__ void long_sum(const float* x, float* y, int n) {
  if (threadIdx.x == 0) *y = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(y, x[i]);
}
