// c = a b of half-precision factors (task matmul/f16): one element a thread, summed in f32.
#include <cuda_fp16.h>

extern "C" __global__ void matmul(const half* a, const half* b, float* c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; i++)
    sum += __half2float(a[(size_t)row * k + i]) * __half2float(b[(size_t)i * n + column]);
  c[(size_t)row * n + column] = sum;
}
