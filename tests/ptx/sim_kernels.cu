// Kernels for tests/c/test_sim.c: each exercises one thing of the simulator and has a plain reference there.
// Built with: nvcc -ptx -arch=sm_90 -lineinfo -o sim_kernels.ptx sim_kernels.cu, then folders cut from .file lines

typedef unsigned int u32;
typedef unsigned long long u64;

extern "C" __global__ void saxpy(const float *x, float *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// Steps to reach 1: lanes of a warp leave the loop at different times.
extern "C" __global__ void collatz(const u32 *x, u32 *steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u32 v = x[i], s = 0;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    s++;
  }
  steps[i] = s;
}

extern "C" __global__ void block_sum(const int *x, int *sums, int n) {
  __shared__ int part[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int v = i < n ? x[i] : 0;
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = lane < (int)(blockDim.x >> 5) ? part[lane] : 0;
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    if (lane == 0) sums[blockIdx.x] = v;
  }
}

// Claim a slot, publish its number, wait for it: the hash insert's pattern, within and between warps.
extern "C" __global__ void insert(const u64 *keys, u64 *table, int *value, int *count, int *got, int n, u32 mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 key = keys[i];
  u32 slot = (u32)(key * 0x9E3779B97F4A7C15ull >> 40) & mask;
  for (;;) {
    u64 seen = ((volatile u64 *)table)[slot];
    if (seen == ~0ull) {
      seen = atomicCAS(&table[slot], ~0ull, key);
      if (seen == ~0ull) {
        int number = atomicAdd(count, 1);
        __threadfence();
        ((volatile int *)value)[slot] = number;
        seen = key;
      }
    }
    if (seen == key) {
      int v;
      while ((v = ((volatile int *)value)[slot]) == -1) {}
      got[i] = v;
      return;
    }
    slot = (slot + 1) & mask;
  }
}

// Every thread of the grid takes one lock in turn: progress within a warp, between warps and blocks.
extern "C" __global__ void spin_lock(int *lock, int *counter) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *(volatile int *)counter = *(volatile int *)counter + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

extern "C" __global__ void grid_barrier(int *arrived, int *data, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1);
    while (*(volatile int *)arrived < (int)gridDim.x) {}
    __threadfence();
  }
  __syncthreads();
  out[i] = ((volatile int *)data)[n - 1 - i];
}

extern "C" __global__ void pick(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i], r;
  switch (v) {
    case 0: r = 17; break;
    case 1: r = v * 3 + i; break;
    case 2: r = i ^ 255; break;
    case 3: r = i / 7; break;
    case 4: r = i % 13; break;
    case 5: r = -i; break;
    case 6: r = i << 3; break;
    default: r = 99;
  }
  y[i] = r;
}

// An array indexed at run time lives in local memory.
extern "C" __global__ void local_sort(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v[9];
  for (int k = 0; k < 9; k++) v[k] = x[i * 9 + k];
  for (int a = 1; a < 9; a++) {
    int t = v[a], b = a;
    while (b > 0 && v[b - 1] > t) {
      v[b] = v[b - 1];
      b--;
    }
    v[b] = t;
  }
  for (int k = 0; k < 9; k++) y[i * 9 + k] = v[k];
}

extern "C" __global__ void warp_ops(const u32 *x, u32 *ballot, u32 *match, u32 *up, u32 *idx, int *all) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  u32 v = x[i];
  ballot[i] = __ballot_sync(~0u, v & 1);
  match[i] = __match_any_sync(~0u, v);
  up[i] = __shfl_up_sync(~0u, v, 3, 16);
  idx[i] = __shfl_sync(~0u, v, (int)(v & 31));
  all[i] = __all_sync(~0u, v < 8) * 2 + __any_sync(~0u, v == 3);
}

extern "C" __global__ void math(const float *x, const double *d, float *y, double *e, int *k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = x[i], b = x[n - 1 - i];
  y[6 * i] = a / b;
  y[6 * i + 1] = sqrtf(fabsf(a));
  y[6 * i + 2] = fmaf(a, b, 1.0f);
  y[6 * i + 3] = fminf(a, b) + fmaxf(a, b) * 2.0f;
  y[6 * i + 4] = floorf(a) - truncf(b) + rintf(a * b);
  y[6 * i + 5] = (float)(d[i] * 0.1);
  e[3 * i] = d[i] / d[n - 1 - i];
  e[3 * i + 1] = sqrt(fabs(d[i]));
  e[3 * i + 2] = fma(d[i], (double)a, 1.0 / 3.0);
  k[4 * i] = (int)a;
  k[4 * i + 1] = __float2int_rd(a * 1e6f);
  k[4 * i + 2] = (int)((unsigned)(int)a / 7u) + (int)a % 11;
  k[4 * i + 3] = __popc((u32)(int)a) + __clz((int)a) * 100 + __mulhi((int)a, 1 << 20);
}

extern "C" __global__ void atomics(const int *x, int *r, u64 *r64, float *f, double *d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i];
  atomicAdd(r, v);
  atomicMin(r + 1, v);
  atomicMax(r + 2, v);
  atomicAnd(r + 3, v);
  atomicOr(r + 4, v);
  atomicXor(r + 5, v);
  atomicInc((u32 *)r + 6, 9);
  atomicAdd(r64, (u64)(u32)v << 20);
  atomicMax(r64 + 1, (u64)(u32)v << 20);
  atomicAdd(f, 1.0f);
  atomicAdd(d, 0.5);
}

extern "C" __global__ void index_3d(int *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  int w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;
  out[(z * h + y) * w + x] = x + 1000 * y + 1000000 * z;
}

extern "C" __global__ void dynamic_reverse(const int *x, int *y) {
  extern __shared__ int s[];
  s[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  y[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

extern "C" __global__ void vector_copy(const float4 *x, float4 *y, const uchar4 *c, uchar4 *e) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = x[i];
  y[i] = make_float4(v.w, v.z, v.y, v.x);
  uchar4 b = c[i];
  e[i] = make_uchar4(b.w, b.z, b.y, b.x);
}

__device__ int table[4] = {10, 20, 30, 40};
__constant__ float factors[2] = {0.5f, 2.0f};
extern "C" __global__ void module_variables(const int *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = (float)table[x[i] & 3] * factors[x[i] >> 2 & 1];
}

// ---- faulty ones ----

extern "C" __global__ void past_end(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i + (i == n - 1)] = 1.0f;
}

extern "C" __global__ void shared_past_end(int *y) {
  __shared__ int a[32];
  __shared__ int b[32];
  a[threadIdx.x] = 1;
  b[threadIdx.x] = 2;
  __syncthreads();
  y[threadIdx.x] = a[threadIdx.x + y[32]] + b[threadIdx.x];
}

extern "C" __global__ void misaligned(char *y) {
  *(int *)(y + 2 * threadIdx.x) = 1;
}

extern "C" __global__ void traps(int *y) {
  if (y[threadIdx.x] == 7) __trap();
  y[threadIdx.x] = 1;
}

extern "C" __global__ void for_ever(volatile int *y) {
  while (y[0] == 0) y[1] = y[1] + 1;
}

extern "C" __global__ void half_a_barrier(int *y) {
  if (threadIdx.x < 32) __syncthreads();
  else while (((volatile int *)y)[0] == 0) {}
}

extern "C" __global__ void lanes_never_meet(int *y) {
  if (threadIdx.x & 1) __syncthreads();
  else y[threadIdx.x] = __shfl_sync(~0u, y[threadIdx.x], 1);
}
