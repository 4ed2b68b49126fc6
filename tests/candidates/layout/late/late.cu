extern "C" __global__ void keep(const float* x, float* numbers, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) numbers[i] = x[i];
}

extern "C" __global__ void all(const float* numbers, float* pairs, int* positive, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  pairs[2 * i] = numbers[i];
  pairs[2 * i + 1] = numbers[i] * numbers[i];
  if (numbers[i] > 0) atomicAdd(positive, 1);
}
