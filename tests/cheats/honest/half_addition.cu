// One addition in half precision, exact here: sums are kept in single precision as they must be.
// task: matmul/f16 --set m=70 --set n=80 --set k=90
// verdict: passed
#include <cuda_fp16.h>
extern "C" __global__ void matmul(const half* a, const half* b, float* c, int m, int n, int k) {
  int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
  if (i >= m || j >= n) return;
  half none = __float2half(-0.f);
  float sum = 0;
  for (int l = 0; l < k; l++)
    sum += __half2float(__hadd(a[(long long)i * k + l], none)) * __half2float(b[(long long)l * n + j]);
  c[(long long)i * n + j] = sum;
}
