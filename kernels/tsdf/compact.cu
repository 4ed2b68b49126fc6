// Stage "compact": the list of blocks that hold any voxel of weight above 0. One warp a block of
// the volume. `compact_early` stops reading where the first such voxel is seen; `compact_regular`,
// the control, is told each block's place in the list and needs no atomic.
#include "tsdf.cuh"

__device__ inline bool any_positive(float4 v) {
  return v.x > 0.0f || v.y > 0.0f || v.z > 0.0f || v.w > 0.0f;
}

__device__ inline int lane_of() {
  return (int)(threadIdx.x & 31);
}

// Blocks that this warp looks at: from first on, every step-th.
struct Share {
  int first, step, end;
};

__device__ inline Share share_of(const int *block_count, int capacity) {
  const int thread = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  return {thread / 32, (int)(gridDim.x * blockDim.x / 32), min(*block_count, capacity)};
}

__device__ inline const float4 *row_of(const float *weight, int block) {
  return reinterpret_cast<const float4 *>(weight + (size_t)block * 512);
}

__device__ inline bool is_active(const float *weight, int block) {
  const float4 *row = row_of(weight, block);
  bool positive = false;
#pragma unroll
  for (int k = 0; k < 4; ++k) positive |= any_positive(row[lane_of() + 32 * k]);
  return __any_sync(kFullWarp, positive);
}

__device__ inline bool is_active_early(const float *weight, int block) {
  const float4 *row = row_of(weight, block);
  for (int k = 0; k < 4; ++k)
    if (__any_sync(kFullWarp, any_positive(row[lane_of() + 32 * k]))) return true;
  return false;
}

__device__ inline void append(int *active, int *active_count, int block) {
  if (lane_of() == 0) active[atomicAdd(active_count, 1)] = block;
}

extern "C" __global__ void compact(const float *__restrict__ weight, const int *block_count,
                                   int *active, int *active_count, int capacity) {
  const Share share = share_of(block_count, capacity);
  for (int block = share.first; block < share.end; block += share.step)
    if (is_active(weight, block)) append(active, active_count, block);
}

extern "C" __global__ void compact_early(const float *__restrict__ weight, const int *block_count,
                                         int *active, int *active_count, int capacity) {
  const Share share = share_of(block_count, capacity);
  for (int block = share.first; block < share.end; block += share.step)
    if (is_active_early(weight, block)) append(active, active_count, block);
}

extern "C" __global__ void compact_regular(const float *__restrict__ weight, const int *block_count,
                                           const int *__restrict__ place, int *active,
                                           int *active_count, int capacity) {
  const Share share = share_of(block_count, capacity);
  for (int block = share.first; block < share.end; block += share.step) {
    const bool listed = is_active(weight, block);
    if (lane_of() != 0) continue;
    const int at = place[block];
    if (listed) active[at] = block;
    if (block == share.end - 1) *active_count = at + listed;
  }
}
