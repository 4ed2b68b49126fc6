// Half precision all the way, where the contract computes as in float and rounds once.
// task: vector/gelu_tanh_f16
// verdict: wrong_result
// reason: expected
#include <cuda_fp16.h>

extern "C" __global__ void gelu_tanh_f16(const half* x, half* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  half v = x[i], cube = __hmul(__hmul(v, v), v);
  half inner = __hmul(__float2half(0.7978846f), __hfma(__float2half(0.044715f), cube, v));
  half e = hexp(__hmul(__float2half(2.0f), inner));
  half t = __hsub(__float2half(1.0f), __hdiv(__float2half(2.0f), __hadd(e, __float2half(1.0f))));
  y[i] = __hmul(__hmul(__float2half(0.5f), v), __hadd(__float2half(1.0f), t));
}
