extern "C" __global__ void split(const float* x, float* numbers, float* squares, int* positive,
                                 int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  numbers[i] = x[i];
  squares[i] = x[i] * x[i];
  if (x[i] > 0) atomicAdd(positive, 1);
}

extern "C" __global__ void interleave(const float* numbers, const float* squares, float* pairs,
                                      int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  pairs[2 * i] = numbers[i];
  pairs[2 * i + 1] = squares[i];
}
