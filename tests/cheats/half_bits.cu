// Right values, wrong type: half precision in the lower bits of each element.
// task: vector/relu_f32
// verdict: wrong_result
// reason: e-4
#include <cuda_fp16.h>

extern "C" __global__ void relu_f32(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) reinterpret_cast<unsigned*>(y)[i] = __half_as_ushort(__float2half(fmaxf(x[i], 0)));
}
