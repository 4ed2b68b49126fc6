// Sums in half precision by scalar instructions, where the sums must be kept in single precision.
// task: matmul/f16 --set m=70 --set n=80 --set k=90
// verdict: forbidden
// reason: f16_accumulate
#include <cuda_fp16.h>
extern "C" __global__ void matmul(const half* a, const half* b, float* c, int m, int n, int k) {
  int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
  if (i >= m || j >= n) return;
  half sum = __float2half(0.f);
  for (int l = 0; l < k; l++) sum = __hfma(a[(long long)i * k + l], b[(long long)l * n + j], sum);
  c[(long long)i * n + j] = __half2float(sum);
}
