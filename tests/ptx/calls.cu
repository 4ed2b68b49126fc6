// Calls: function pointers, virtual functions, recursion, printf, assert, malloc, a big switch.
#include <cassert>
#include <cstdio>

typedef int (*operation)(int);
__device__ __noinline__ int triple(int x) { return x * 3; }
__device__ __noinline__ int shift(int x) { return x + 7; }
__device__ operation operations[2] = {triple, shift};

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

struct shape {
  virtual __device__ float area(float x) = 0;
};
struct square : shape {
  __device__ float area(float x) override { return x * x; }
};
struct circle : shape {
  __device__ float area(float x) override { return x * x * 3.14159f; }
};

extern "C" __global__ void calls(int *x, float *y, int n) {
  int v = operations[x[0] & 1](x[1]) + fibonacci(n);
  shape *s = v & 1 ? (shape *)new square : (shape *)new circle;
  y[0] = s->area(y[1]);
  delete s;
  switch (x[2]) {
  case 0: v += 3; break;
  case 1: v *= 17; break;
  case 2: v ^= 99; break;
  case 3: v = __popc(v); break;
  case 4: v /= n; break;
  case 5: v <<= n; break;
  case 6: v = atomicAdd(&x[3], v); break;
  case 7: v = triple(v); break;
  case 8: v = ~v; break;
  }
  printf("%d %f\n", v, y[0]);
  assert(v < 1000);
  x[4] = v;
}
