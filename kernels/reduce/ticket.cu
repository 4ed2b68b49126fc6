// Reductions in one pass over memory (tasks reduce/sum, dot, max, argmax). Each thread keeps UNROLL
// 16-byte loads in flight; warps reduce by shuffles; the block that draws the last ticket reduces
// what the blocks left. `ticket` is 0 before and after.

#ifndef UNROLL
#define UNROLL 4
#endif

constexpr int THREADS = 256, WARPS = THREADS / 32;

struct Sum {
  float value = 0.0f;
  __device__ void add(const Sum& other) {
    value += other.value;
  }
  __device__ Sum from(int lane) const {
    Sum other;
    other.value = __shfl_down_sync(~0u, value, lane);
    return other;
  }
};

struct Max {
  float value = __int_as_float(0xff800000);
  __device__ void add(const Max& other) {
    value = fmaxf(value, other.value);
  }
  __device__ Max from(int lane) const {
    Max other;
    other.value = __shfl_down_sync(~0u, value, lane);
    return other;
  }
};

struct ArgMax {
  float value = __int_as_float(0xff800000);
  int index = 0x7fffffff;
  __device__ void add(const ArgMax& other) {
    bool better = other.value > value || (other.value == value && other.index < index);
    value = better ? other.value : value;
    index = better ? other.index : index;
  }
  __device__ ArgMax from(int lane) const {
    ArgMax other;
    other.value = __shfl_down_sync(~0u, value, lane);
    other.index = __shfl_down_sync(~0u, index, lane);
    return other;
  }
};

// Thread 0 gets the result.
template <class T>
__device__ T reduce_block(T mine) {
  __shared__ T of_warp[WARPS];
  for (int lane = 16; lane > 0; lane /= 2) mine.add(mine.from(lane));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  T total;
  if (threadIdx.x < WARPS) total = of_warp[threadIdx.x];
  if (threadIdx.x < 32)
    for (int lane = WARPS / 2; lane > 0; lane /= 2) total.add(total.from(lane));
  return total;
}

// Thread 0 of the last block gets the result and true.
template <class T>
__device__ bool reduce_grid(T& mine, T* partial, unsigned* ticket) {
  __shared__ bool last;
  T total = reduce_block(mine);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = total;
    __threadfence();
    last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return false;
  T rest;
  for (int i = threadIdx.x; i < gridDim.x; i += THREADS) rest.add(partial[i]);
  mine = reduce_block(rest);
  return threadIdx.x == 0;
}

// Calls f(four elements, index of the first) for all of this thread's, then g(index) for those of
// the last, incomplete four. Two arrays when y is given.
template <class Four, class One>
__device__ void for_all(const float* x, const float* y, int n, Four four, One one) {
  const float4* xs = reinterpret_cast<const float4*>(x);
  const float4* ys = reinterpret_cast<const float4*>(y);
  int fours = n / 4, stride = gridDim.x * THREADS, i = blockIdx.x * THREADS + threadIdx.x;
  for (; i < fours - (UNROLL - 1) * stride; i += UNROLL * stride) {
    float4 a[UNROLL], b[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; k++) {
      a[k] = __ldcs(xs + i + k * stride);
      b[k] = y ? __ldcs(ys + i + k * stride) : float4{};
    }
#pragma unroll
    for (int k = 0; k < UNROLL; k++) four(a[k], b[k], 4 * (i + k * stride));
  }
  for (; i < fours; i += stride) four(__ldcs(xs + i), y ? __ldcs(ys + i) : float4{}, 4 * i);
  int rest = 4 * fours + threadIdx.x;
  if (blockIdx.x == 0 && rest < n) one(rest);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    reduce_sum(const float* x, float* y, Sum* partial, unsigned* ticket, int n) {
  Sum part[4];
  for_all(
      x, nullptr, n,
      [&](float4 a, float4, int) {
        part[0].value += a.x;
        part[1].value += a.y;
        part[2].value += a.z;
        part[3].value += a.w;
      },
      [&](int i) { part[0].value += x[i]; });
  for (int k = 1; k < 4; k++) part[0].add(part[k]);
  if (reduce_grid(part[0], partial, ticket)) *y = part[0].value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    reduce_dot(const float* x, const float* y, float* r, Sum* partial, unsigned* ticket, int n) {
  Sum part[4];
  for_all(
      x, y, n,
      [&](float4 a, float4 b, int) {
        part[0].value += a.x * b.x;
        part[1].value += a.y * b.y;
        part[2].value += a.z * b.z;
        part[3].value += a.w * b.w;
      },
      [&](int i) { part[0].value += x[i] * y[i]; });
  for (int k = 1; k < 4; k++) part[0].add(part[k]);
  if (reduce_grid(part[0], partial, ticket)) *r = part[0].value;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    reduce_max(const float* x, float* y, Max* partial, unsigned* ticket, int n) {
  Max part;
  for_all(
      x, nullptr, n,
      [&](float4 a, float4, int) {
        part.value = fmaxf(part.value, fmaxf(fmaxf(a.x, a.y), fmaxf(a.z, a.w)));
      },
      [&](int i) { part.value = fmaxf(part.value, x[i]); });
  if (reduce_grid(part, partial, ticket)) *y = part.value;
}

// The elements of a thread come in the order of their indices, so that a later one must be larger.
extern "C" __global__ void __launch_bounds__(THREADS)
    reduce_argmax(const float* x, int* index, ArgMax* partial, unsigned* ticket, int n) {
  ArgMax part;
  auto take = [&](float value, int i) {
    if (value > part.value) part.value = value, part.index = i;
  };
  for_all(
      x, nullptr, n,
      [&](float4 a, float4, int i) {
        take(a.x, i);
        take(a.y, i + 1);
        take(a.z, i + 2);
        take(a.w, i + 3);
      },
      [&](int i) { take(x[i], i); });
  if (reduce_grid(part, partial, ticket)) *index = part.index;
}
