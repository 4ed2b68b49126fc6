// Calls on the simulator: recursion, function pointers, virtual functions, structures by value and by
// reference, barriers and shuffles inside functions, printf, assert.
#include <cassert>
#include <cstdio>

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void recurse(const int *n, int *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = fibonacci(n[i]);
}

typedef int (*operation)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int sub(int a, int b) { return a - b; }
__device__ __noinline__ int mul(int a, int b) { return a * b; }
__device__ operation operations[3] = {add, sub, mul};

extern "C" __global__ void pointers(int *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = operations[i % 3](i, 7) + operations[i / 3 % 3](3, i);
}

struct shape {
  virtual __device__ float area() const = 0;
};
struct square : shape {
  float side;
  __device__ __noinline__ float area() const override { return side * side; }
};
struct rectangle : shape {
  float a, b;
  __device__ __noinline__ float area() const override { return a * b; }
};
__device__ __noinline__ float twice(const shape *s) { return 2 * s->area(); }

extern "C" __global__ void virtuals(float *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  square s;
  rectangle r;
  s.side = (float)i;
  r.a = (float)i;
  r.b = 3;
  out[i] = twice(i % 5 < 2 ? (const shape *)&s : (const shape *)&r);
}

struct pack {
  int values[6];
  double scale;
  short last;
};
__device__ __noinline__ pack make(int i) {
  pack p;
  for (int k = 0; k < 6; k++) p.values[k] = i * 10 + k;
  p.scale = i * 0.5;
  p.last = (short)-i;
  return p;
}
__device__ __noinline__ void bump(pack *p, int at) { p->values[at]++; }
__device__ __noinline__ double total(pack p, int at) { return p.values[at] * p.scale + p.last; }

extern "C" __global__ void structures(double *out, pack given, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  pack p = make(i);
  bump(&p, i % 6);
  out[i] = total(p, (i + 1) % 6) + total(p, i % 6) + total(given, i % 6);
}

// Every warp's lanes come from different branches and meet inside.
__device__ __noinline__ int sum_of_warp(int x) {
  for (int d = 16; d; d /= 2) x += __shfl_xor_sync(~0u, x, d);
  return x;
}
__device__ __noinline__ int sum_of_block(int x) {
  __shared__ int sums[32];
  int warp = threadIdx.x / 32;
  x = sum_of_warp(x);
  if (threadIdx.x % 32 == 0) sums[warp] = x;
  __syncthreads();
  x = 0;
  for (int i = 0; i < blockDim.x / 32; i++) x += sums[i];
  __syncthreads();
  return x;
}

extern "C" __global__ void meet(int *out) {
  int i = threadIdx.x, x;
  __shared__ int other[4];
  if (i < 4) other[i] = i;
  if (i & 1)
    x = sum_of_warp(i);
  else
    x = sum_of_warp(2 * i);
  out[blockIdx.x * blockDim.x + i] = x + sum_of_block(i) + other[i & 3];
}

extern "C" __global__ void say(const char *name) {
  int i = threadIdx.x;
  if (i == 3)
    printf("%s %d|%5u|%-6x|%c|%%|%s\n", "lane", -i, 42u, 255, 'q', name);
  if (i == 5)
    printf("%.3f %g %lld %llx %p\n", 1.5, 1e10, -(1ll << 40), ~0ull, (void *)0x10);
  if (i == 9) printf("plain\n");
}

extern "C" __global__ void check(const int *x) {
  assert(x[threadIdx.x] < 10);
}

extern "C" __global__ void wild(int *out, operation f) { out[threadIdx.x] = f(1, 2); }

extern "C" __global__ void leave(int *out) {  // some threads end inside a function
  int i = threadIdx.x;
  auto inner = [](int k) __attribute__((noinline)) {
    if (k % 3 == 0) asm volatile("exit;");
    return k * 2;
  };
  out[i] = inner(i);
}
