extern "C" __global__ void count(const float* x, float* pairs, int* positive, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) atomicAdd(positive, 1);
}

extern "C" __global__ void work(const float* x, float* pairs, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  pairs[2 * i] = x[i];
  pairs[2 * i + 1] = x[i] * x[i];
}
