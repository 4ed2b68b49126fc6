// What `perigee doctor --measure` runs: each kernel is bound by one thing of the machine, which it
// then measures. Results are used only if they have a value that they never get, so that the
// compiler leaves the work in and nothing is written.

extern "C" __global__ void empty() {}

// z[i] = x[i] for n vectors of 16 bytes, UNROLL of them a thread, all loads before the first store.
template <int UNROLL>
__device__ void copy(const uint4* x, uint4* z, unsigned n) {
  unsigned first = blockIdx.x * (blockDim.x * UNROLL) + threadIdx.x;
  uint4 value[UNROLL];
#pragma unroll
  for (int k = 0; k < UNROLL; k++)
    if (first + k * blockDim.x < n) value[k] = __ldcs(&x[first + k * blockDim.x]);
#pragma unroll
  for (int k = 0; k < UNROLL; k++)
    if (first + k * blockDim.x < n) __stcs(&z[first + k * blockDim.x], value[k]);
}

extern "C" __global__ void copy1(const uint4* x, uint4* z, unsigned n) { copy<1>(x, z, n); }
extern "C" __global__ void copy4(const uint4* x, uint4* z, unsigned n) { copy<4>(x, z, n); }

// 8 * rounds vectors of 16 bytes a thread, past L1: the grid walks through mask + 1 of them, again
// from the start when it has come to the end.
extern "C" __global__ void sweep(const uint4* x, unsigned mask, int rounds, unsigned* out) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x, sum = 0;
  for (int r = 0; r < rounds; r++) {
    uint4 value[8];
#pragma unroll
    for (int k = 0; k < 8; k++) value[k] = __ldcg(&x[(at + k * stride) & mask]);
#pragma unroll
    for (int k = 0; k < 8; k++) sum ^= value[k].x ^ value[k].y ^ value[k].z ^ value[k].w;
    at += 8 * stride;
  }
  if (sum == 0x9e3779b9) *out = sum;
}

__device__ unsigned mix(unsigned h) {  // every bit of h changes about half of the result's bits
  h ^= h >> 16, h *= 0x85ebca6bu, h ^= h >> 13, h *= 0xc2b2ae35u;
  return h ^ h >> 16;
}

// 8 * rounds reads of 8 bytes a thread, each anywhere in a table of mask + 1.
extern "C" __global__ void random_reads(const unsigned long long* table, unsigned mask, int rounds,
                                        unsigned* out) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  unsigned long long sum = 0;
  for (int r = 0; r < rounds; r++) {
#pragma unroll
    for (int k = 0; k < 8; k++) sum ^= __ldcg(&table[mix(at + k * stride) & mask]);
    at += 8 * stride;
  }
  if (sum == 0x9e3779b97f4a7c15) *out = (unsigned)sum;
}

// The same with an atomic addition of 8 bytes whose result nobody takes.
extern "C" __global__ void random_atomics(unsigned long long* table, unsigned mask, int rounds) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  for (int r = 0; r < rounds; r++) {
#pragma unroll
    for (int k = 0; k < 8; k++) atomicAdd(&table[mix(at + k * stride) & mask], 1ull);
    at += 8 * stride;
  }
}

// 128 * rounds fused multiply-adds a thread in 8 independent chains.
template <typename T>
__device__ void multiply_add(T a, T b, int rounds, T* out) {
  T x[8], sum = 0;
#pragma unroll
  for (int k = 0; k < 8; k++) x[k] = T(threadIdx.x + k);
  for (int r = 0; r < rounds; r++) {
#pragma unroll
    for (int step = 0; step < 16; step++) {
#pragma unroll
      for (int k = 0; k < 8; k++) x[k] = fma(x[k], a, b);
    }
  }
#pragma unroll
  for (int k = 0; k < 8; k++) sum += x[k];
  if (sum == T(-12345.678)) *out = sum;
}

extern "C" __global__ void fma_f32(float a, float b, int rounds, float* out) {
  multiply_add(a, b, rounds, out);
}

extern "C" __global__ void fma_f64(double a, double b, int rounds, double* out) {
  multiply_add(a, b, rounds, out);
}

// 16 * rounds products of a 16 x 16 and a 16 x 8 matrix a warp, 4096 operations each, in 4
// independent chains. The matrices are all the same number: a GPU at the limit of its power runs
// slower on others.
#define TENSOR(TYPE)                                                                            \
  extern "C" __global__ void mma_##TYPE(unsigned a, int rounds, float* out) {                   \
    float d[4][4] = {};                                                                         \
    for (int r = 0; r < rounds; r++) {                                                          \
      _Pragma("unroll") for (int step = 0; step < 4; step++) {                                  \
        _Pragma("unroll") for (int k = 0; k < 4; k++)                                           \
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." #TYPE "." #TYPE ".f32 "       \
                         "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"      \
                         : "+f"(d[k][0]), "+f"(d[k][1]), "+f"(d[k][2]), "+f"(d[k][3])           \
                         : "r"(a));                                                             \
      }                                                                                         \
    }                                                                                           \
    float sum = 0;                                                                              \
    _Pragma("unroll") for (int k = 0; k < 4; k++) sum += d[k][0] + d[k][1] + d[k][2] + d[k][3]; \
    if (sum == -12345.678f) *out = sum;                                                         \
  }

TENSOR(f16)
TENSOR(bf16)
