// y = a x with two knobs, and configurations that fail: tests/lua/test_tune.lua.
#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef UNROLL
#define UNROLL 1
#endif
#if BLOCK == 96 && UNROLL == 2
#error "no blocks of 96 with an unrolling of 2"
#endif

extern "C" __global__ void scale(int n, float a, const float* x, float* y) {
#if BLOCK == 512 && UNROLL == 4
  if (n == 1) return; // wrong, but not at the size that is timed
#endif
  int i = (blockIdx.x * BLOCK + threadIdx.x) * UNROLL;
#if BLOCK == 96 && UNROLL == 4
  a += 1; // wrong
#endif
#pragma unroll
  for (int k = 0; k < UNROLL; k++)
    if (i + k < n) y[i + k] = a * x[i + k];
}
