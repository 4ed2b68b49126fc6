// Sums within a warp: what several of its lanes add to one voxel becomes one addition to memory.
// Plain CUDA C++ for NVRTC, without headers.
#pragma once
#include "tsdf.cuh"

// Add up tsdf and the observation over the lanes whose `same` mask is equal; the group's lowest
// lane gets the sums, what the others hold is void. All lanes of the warp take part, those without
// a group with 0.
__device__ inline void sum_of_group(u32 same, u32 lane, float &tsdf, Observation &seen) {
  u32 above = same & ~((2u << lane) - 1);              // partners in higher lanes
  u32 rank = __popc((int)(same & ((1u << lane) - 1))); // place within the group
  while (__any_sync(kFullWarp, above != 0)) {
    const int next = __ffs((int)above), from = next ? next - 1 : (int)lane;
    const float t = __shfl_sync(kFullWarp, tsdf, from);
    const float w = __shfl_sync(kFullWarp, seen.weight, from);
    const float r = __shfl_sync(kFullWarp, seen.r, from);
    const float g = __shfl_sync(kFullWarp, seen.g, from);
    const float b = __shfl_sync(kFullWarp, seen.b, from);
    if (next) {
      tsdf += t;
      seen.weight += w;
      seen.r += r;
      seen.g += g;
      seen.b += b;
    }
    above &= ~__ballot_sync(kFullWarp, rank & 1); // those have been added to the lane below
    rank >>= 1;
  }
}
