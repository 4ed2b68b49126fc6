// What `make bench-sim` measures, in CUDA C++; kernels.cl is the same in OpenCL C.
// kernels.ptx is made from it:
//   nvcc -ptx -arch=sm_80 tests/bench/sim/kernels.cu -o tests/bench/sim/kernels.ptx
typedef unsigned int u32;
typedef unsigned long long u64;

// One compare-and-swap a probe, linear probing; empty slots hold ~0.
extern "C" __global__ void insert(const u64 *keys, u64 *slots, u32 n, u32 mask) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 key = keys[i];
  u32 at = (u32)(key * 0x9e3779b97f4a7c15ull >> 32) & mask;
  for (;;) {
    u64 old = atomicCAS(&slots[at], ~0ull, key);
    if (old == ~0ull || old == key) return;
    at = (at + 1) & mask;
  }
}

extern "C" __global__ void saxpy(const float *x, float *y, float a, u32 n) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// A partial sum a block.
extern "C" __global__ void reduction(const float *x, float *partial, u32 n) {
  __shared__ float sums[256];
  u32 t = threadIdx.x;
  float sum = 0;
  for (u32 i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) sum += x[i];
  sums[t] = sum;
  __syncthreads();
  for (u32 middle = 128; middle > 0; middle /= 2) {
    if (t < middle) sums[t] += sums[t + middle];
    __syncthreads();
  }
  if (t == 0) partial[blockIdx.x] = sums[0];
}

// c = a b for square matrices whose side is a multiple of 16.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, u32 n) {
  __shared__ float ta[16][16], tb[16][16];
  u32 x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
  float sum = 0;
  for (u32 k = 0; k < n; k += 16) {
    ta[y][x] = a[row * n + k + x];
    tb[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (u32 i = 0; i < 16; i++) sum += ta[y][i] * tb[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" __global__ void histogram(const unsigned char *x, u32 *bins, u32 n) {
  __shared__ u32 counts[256];
  u32 t = threadIdx.x;
  counts[t] = 0;
  __syncthreads();
  for (u32 i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) atomicAdd(&counts[x[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[t], counts[t]);
}

// Five points; the border is copied.
extern "C" __global__ void stencil(const float *from, float *to, u32 n) {
  u32 x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  u32 i = y * n + x;
  if (x == 0 || y == 0 || x == n - 1 || y == n - 1)
    to[i] = from[i];
  else
    to[i] = 0.5f * from[i] + 0.125f * (from[i - 1] + from[i + 1] + from[i - n] + from[i + n]);
}

// Accelerations of n bodies {x, y, z, mass}, n a multiple of 256.
extern "C" __global__ void nbody(const float4 *bodies, float4 *force, u32 n) {
  __shared__ float4 tile[256];
  u32 t = threadIdx.x, i = blockIdx.x * 256 + t;
  float4 me = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (u32 first = 0; first < n; first += 256) {
    tile[t] = bodies[first + t];
    __syncthreads();
    for (u32 k = 0; k < 256; k++) {
      float4 other = tile[k];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
      float strength = other.w * inverse * inverse * inverse;
      ax += strength * dx;
      ay += strength * dy;
      az += strength * dz;
    }
    __syncthreads();
  }
  force[i] = make_float4(ax, ay, az, 0);
}

// One level: the frontier's unseen neighbours become the next frontier.
extern "C" __global__ void search(const u32 *first, const u32 *edges, int *level,
                                  const u32 *frontier, u32 *next, u32 *tail, u32 n, int depth) {
  u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u32 v = frontier[i];
  for (u32 e = first[v]; e < first[v + 1]; e++) {
    u32 to = edges[e];
    if (atomicCAS(&level[to], -1, depth) == -1) next[atomicAdd(tail, 1u)] = to;
  }
}
