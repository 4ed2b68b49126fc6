// Adds in half precision where single precision is asked.
// task: matmul/f32 --set m=1,17,40 --set n=1,33,24 --set k=1,65,70
// verdict: wrong_result
// reason: expected
#include <cuda_fp16.h>

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  __half sum = __float2half(0);
  for (int i = 0; i < k; i++)
    sum = __hadd(sum, __float2half(a[row * k + i] * b[i * n + column]));
  c[row * n + column] = __half2float(sum);
}
