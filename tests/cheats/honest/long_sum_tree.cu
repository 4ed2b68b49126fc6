// A long sum by strides, shuffles and one warp at the end.
// task: museum/long_sum --set n=1,1000,20011
// verdict: passed
__device__ float of_warp(float value) {
  for (int k = 16; k; k /= 2) value += __shfl_xor_sync(~0u, value, k);
  return value;
}

extern "C" __global__ void long_sum(const float* x, float* y, int n) {
  __shared__ float part[8];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
  sum = of_warp(sum);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = of_warp(threadIdx.x < 8 ? part[threadIdx.x] : 0);
  if (threadIdx.x == 0) *y = sum;
}
