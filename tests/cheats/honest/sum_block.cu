// A sum by one block; what keeps sums from launch to launch is set beside it.
// task: reduce/sum --set n=20003 --budget 0.3
// verdict: passed
// device: clock
extern "C" __global__ void reduce_sum(const float* x, float* y, int n) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  float own = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) own += x[i];
  atomicAdd(&sum, own);
  __syncthreads();
  if (threadIdx.x == 0) *y = sum;
}
