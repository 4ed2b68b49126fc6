// Standard normal numbers (task random/normal): each thread makes whole vectors of four from one
// Philox block each, and uses the approximate instructions for logarithm, square root, sine and
// cosine. Seven rounds: the fewest that pass every test of BigCrush (Salmon et al.).
#include "philox.cuh"

#ifndef VECTORS
#define VECTORS 2
#endif

constexpr int ROUNDS = 7;

// Box and Muller: two numbers of two words. The angle is in [-pi, pi), where sine and cosine are
// accurate.
__device__ inline float2 pair(unsigned first, unsigned second) {
  float u = __fmaf_rn(first, 0x1p-32f, 0x1p-33f);
  float angle = static_cast<int>(second) * (0x1p-31f * 3.14159265358979f);
  float logarithm, radius, sine, cosine;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(logarithm) : "f"(u));
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(radius) : "f"(-1.38629436111989f * logarithm));
  asm("sin.approx.ftz.f32 %0, %1;" : "=f"(sine) : "f"(angle));
  asm("cos.approx.ftz.f32 %0, %1;" : "=f"(cosine) : "f"(angle));
  return make_float2(radius * cosine, radius * sine);
}

__device__ inline float4 four(int vector, unsigned long long seed) {
  uint4 words = philox<ROUNDS>(vector, seed);
  float2 a = pair(words.x, words.y), b = pair(words.z, words.w);
  return make_float4(a.x, a.y, b.x, b.y);
}

extern "C" __global__ void normal(const unsigned long long* seed, float* y, int n) {
  unsigned long long key = *seed;
  int first = blockIdx.x * VECTORS * blockDim.x + threadIdx.x;
#pragma unroll
  for (int v = 0; v < VECTORS; v++) {
    int vector = first + v * blockDim.x;
    if (vector < n / 4) __stcs(reinterpret_cast<float4*>(y) + vector, four(vector, key));
  }
  int rest = n / 4 * 4 + threadIdx.x;  // the last, incomplete vector
  if (blockIdx.x != 0 || threadIdx.x >= 4 || rest >= n) return;
  float4 last = four(n / 4, key);
  y[rest] = threadIdx.x == 0 ? last.x : threadIdx.x == 1 ? last.y : last.z;
}
