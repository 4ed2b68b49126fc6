__device__ void everybody(unsigned* arrived, unsigned count) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < count) {
    }
    __threadfence();
  }
  __syncthreads();
}

// Each block adds a slice up, then half as many blocks add two of their sums, and so on: a tree over
// blocks with a barrier between its levels.
extern "C" __global__ void reduce_sum(const float* x, float* y, float* part, unsigned* arrived, int n) {
  __shared__ float sums[128];
  float sum = 0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) sum += x[i];
  sums[threadIdx.x] = sum;
  for (int half = 64; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) part[blockIdx.x] = sums[0];
  unsigned level = 1;
  for (unsigned half = gridDim.x / 2; half; half /= 2) {
    everybody(arrived, level++ * gridDim.x);
    if (threadIdx.x == 0 && blockIdx.x < half) part[blockIdx.x] += part[blockIdx.x + half];
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *y = part[0];
}
