/* What `make bench-sim` measures, in OpenCL C for PoCL and Oclgrind: the kernels of kernels.cu. */
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
typedef unsigned int u32;
typedef unsigned long u64;

__kernel void insert(__global const u64 *keys, __global u64 *slots, u32 n, u32 mask) {
  u32 i = get_global_id(0);
  if (i >= n) return;
  u64 key = keys[i];
  u32 at = (u32)(key * 0x9e3779b97f4a7c15ul >> 32) & mask;
  for (;;) {
    u64 old = atom_cmpxchg(&slots[at], ~0ul, key);
    if (old == ~0ul || old == key) return;
    at = (at + 1) & mask;
  }
}

__kernel void saxpy(__global const float *x, __global float *y, float a, u32 n) {
  u32 i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}

__kernel void reduction(__global const float *x, __global float *partial, u32 n) {
  __local float sums[256];
  u32 t = get_local_id(0);
  float sum = 0;
  for (u32 i = get_group_id(0) * 256 + t; i < n; i += get_num_groups(0) * 256) sum += x[i];
  sums[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (u32 middle = 128; middle > 0; middle /= 2) {
    if (t < middle) sums[t] += sums[t + middle];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) partial[get_group_id(0)] = sums[0];
}

__kernel void matmul(__global const float *a, __global const float *b, __global float *c, u32 n) {
  __local float ta[16][16], tb[16][16];
  u32 x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (u32 k = 0; k < n; k += 16) {
    ta[y][x] = a[row * n + k + x];
    tb[y][x] = b[(k + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (u32 i = 0; i < 16; i++) sum += ta[y][i] * tb[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}

__kernel void histogram(__global const uchar *x, __global u32 *bins, u32 n) {
  __local u32 counts[256];
  u32 t = get_local_id(0);
  counts[t] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (u32 i = get_group_id(0) * 256 + t; i < n; i += get_num_groups(0) * 256)
    atomic_add(&counts[x[i]], 1u);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&bins[t], counts[t]);
}

__kernel void stencil(__global const float *from, __global float *to, u32 n) {
  u32 x = get_global_id(0), y = get_global_id(1);
  if (x >= n || y >= n) return;
  u32 i = y * n + x;
  if (x == 0 || y == 0 || x == n - 1 || y == n - 1)
    to[i] = from[i];
  else
    to[i] = 0.5f * from[i] + 0.125f * (from[i - 1] + from[i + 1] + from[i - n] + from[i + n]);
}

__kernel void nbody(__global const float4 *bodies, __global float4 *force, u32 n) {
  __local float4 tile[256];
  u32 t = get_local_id(0), i = get_global_id(0);
  float4 me = bodies[i];
  float ax = 0, ay = 0, az = 0;
  for (u32 first = 0; first < n; first += 256) {
    tile[t] = bodies[first + t];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (u32 k = 0; k < 256; k++) {
      float4 other = tile[k];
      float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      float inverse = rsqrt(dx * dx + dy * dy + dz * dz + 1e-3f);
      float strength = other.w * inverse * inverse * inverse;
      ax += strength * dx;
      ay += strength * dy;
      az += strength * dz;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  force[i] = (float4)(ax, ay, az, 0);
}

__kernel void search(__global const u32 *first, __global const u32 *edges, __global int *level,
                     __global const u32 *frontier, __global u32 *next, __global u32 *tail, u32 n,
                     int depth) {
  u32 i = get_global_id(0);
  if (i >= n) return;
  u32 v = frontier[i];
  for (u32 e = first[v]; e < first[v + 1]; e++) {
    u32 to = edges[e];
    if (atomic_cmpxchg(&level[to], -1, depth) == -1) next[atomic_inc(tail)] = to;
  }
}
