// Standard normal numbers (task random/normal): one element a thread, by Box and Muller's method
// with the accurate functions of the CUDA library.
#include "philox.cuh"

extern "C" __global__ void normal(const unsigned long long* seed, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 words = philox<10>(i / 4, *seed);
  unsigned first = i & 2 ? words.z : words.x, second = i & 2 ? words.w : words.y;
  float u = (first + 1.0f) * 0x1p-32f, turn = 2 * (second * 0x1p-32f);
  float radius = sqrtf(-2 * logf(u));
  y[i] = radius * (i & 1 ? sinpif(turn) : cospif(turn));
}
