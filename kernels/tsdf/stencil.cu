// Stage "stencil": for every voxel, the sum over itself and its 6 or 26 neighbours, across the
// borders of blocks. One thread block a block of the volume, one thread a voxel. `stencil*_halo`
// brings the block and its rim into shared memory first; `stencil*_regular`, the control, is given
// the numbers of the neighbouring blocks instead of the hash table.
#include "tsdf.cuh"

constexpr int kSide = 10, kHalo = kSide * kSide * kSide; // a block with one voxel more on each side

// Neighbouring block t of 27 lies at (dx, dy, dz), each -1 to 1: x runs fastest, 13 is the block.
struct Offset {
  int x, y, z;
};

__device__ inline Offset offset_of(int t) {
  return {t % 3 - 1, t / 3 % 3 - 1, t / 9 - 1};
}

template <int taps> __device__ inline bool is_tap(int dx, int dy, int dz) {
  return taps == 27 || abs(dx) + abs(dy) + abs(dz) <= 1;
}

// Where neighbouring blocks come from.
struct ByHash {
  const Entry *table;
  const int *coord;
  u32 mask;
  __device__ int operator()(int block, int t) const {
    const Offset d = offset_of(t);
    const int *at = coord + 3 * (size_t)block;
    return t == 13 ? block : find(table, mask, at[0] + d.x, at[1] + d.y, at[2] + d.z);
  }
};

struct ByIndex {
  const int *neighbor;
  __device__ int operator()(int block, int t) const {
    return neighbor[27 * (size_t)block + t];
  }
};

// The value of a voxel, -1 to 8 along each axis of the block in the middle; 0 in a block that is
// not there.
__device__ inline float value_at(const float *tsdf, const int *near, int x, int y, int z) {
  const int block = near[(x + 8) / 8 + 3 * ((y + 8) / 8) + 9 * ((z + 8) / 8)];
  return block < 0 ? 0.0f : tsdf[(size_t)block * 512 + ((x & 7) | (y & 7) << 3 | (z & 7) << 6)];
}

// The sum of `at(dx, dy, dz)` over the taps.
template <int taps, class At> __device__ inline float sum_of(At at) {
  float total = 0.0f;
#pragma unroll
  for (int dz = -1; dz <= 1; ++dz)
#pragma unroll
    for (int dy = -1; dy <= 1; ++dy)
#pragma unroll
      for (int dx = -1; dx <= 1; ++dx)
        if (is_tap<taps>(dx, dy, dz)) total += at(dx, dy, dz);
  return total;
}

template <int taps, class Near>
__device__ inline void find_near(const Near &near_of, int block, int *near) {
  const int t = (int)threadIdx.x;
  if (t >= 27) return;
  const Offset d = offset_of(t);
  near[t] = is_tap<taps>(d.x, d.y, d.z) ? near_of(block, t) : kDropped;
}

template <int taps, class Near>
__device__ inline void stencil(const Near &near_of, const float *tsdf, float *sum, int blocks) {
  __shared__ int near[27];
  const int t = (int)threadIdx.x, x = t & 7, y = t >> 3 & 7, z = t >> 6;
  for (int block = (int)blockIdx.x; block < blocks; block += (int)gridDim.x) {
    find_near<taps>(near_of, block, near);
    __syncthreads();
    sum[(size_t)block * 512 + t] = sum_of<taps>(
        [&](int dx, int dy, int dz) { return value_at(tsdf, near, x + dx, y + dy, z + dz); });
    __syncthreads();
  }
}

template <int taps, class Near>
__device__ inline void stencil_halo(const Near &near_of, const float *tsdf, float *sum,
                                    int blocks) {
  __shared__ int near[27];
  __shared__ float halo[kHalo];
  const int t = (int)threadIdx.x;
  const int middle = (t & 7) + 1 + kSide * ((t >> 3 & 7) + 1) + kSide * kSide * ((t >> 6) + 1);
  for (int block = (int)blockIdx.x; block < blocks; block += (int)gridDim.x) {
    find_near<taps>(near_of, block, near);
    __syncthreads();
    for (int i = t; i < kHalo; i += 512)
      halo[i] = value_at(tsdf, near, i % kSide - 1, i / kSide % kSide - 1, i / (kSide * kSide) - 1);
    __syncthreads();
    sum[(size_t)block * 512 + t] = sum_of<taps>([&](int dx, int dy, int dz) {
      return halo[middle + dx + kSide * dy + kSide * kSide * dz];
    });
  }
}

#define KERNELS(TAPS, BOUNDS)                                                                     \
  extern "C" __global__ void BOUNDS stencil##TAPS(                                                \
      const Entry *__restrict__ table, const int *__restrict__ coord, const int *block_count,     \
      const float *__restrict__ tsdf, float *sum, u32 table_mask, int capacity) {                 \
    stencil<TAPS>(ByHash{table, coord, table_mask}, tsdf, sum, min(*block_count, capacity));      \
  }                                                                                               \
  extern "C" __global__ void stencil##TAPS##_halo(                                                \
      const Entry *__restrict__ table, const int *__restrict__ coord, const int *block_count,     \
      const float *__restrict__ tsdf, float *sum, u32 table_mask, int capacity) {                 \
    stencil_halo<TAPS>(ByHash{table, coord, table_mask}, tsdf, sum, min(*block_count, capacity)); \
  }                                                                                               \
  extern "C" __global__ void stencil##TAPS##_regular(                                             \
      const int *__restrict__ neighbor, const int *block_count, const float *__restrict__ tsdf,   \
      float *sum, int capacity) {                                                                 \
    stencil<TAPS>(ByIndex{neighbor}, tsdf, sum, min(*block_count, capacity));                     \
  }                                                                                               \
  extern "C" __global__ void stencil##TAPS##_regular_halo(                                        \
      const int *__restrict__ neighbor, const int *block_count, const float *__restrict__ tsdf,   \
      float *sum, int capacity) {                                                                 \
    stencil_halo<TAPS>(ByIndex{neighbor}, tsdf, sum, min(*block_count, capacity));                \
  }

// Left alone, 27 taps take 66 registers: one block a multiprocessor, where 64 let it have two.
KERNELS(7, )
KERNELS(27, __launch_bounds__(512, 2))
