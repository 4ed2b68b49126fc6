// Eight volumes in one launch, a row of the grid each: what launches take that wait for no other.
// The plain kernels of allocate.cu, causes.cu and update.cu, on volumes that lie one behind the
// other.
#include "no_wait.cuh"

__device__ inline Pool pool_of_row(Entry *table, u32 mask, int *coord, int *block_count,
                                   u64 *drop_count, int capacity) {
  const size_t row = blockIdx.y;
  return {table + row * (mask + 1), mask,    coord + 3 * row * capacity, block_count + row,
          drop_count + row,         capacity};
}

// What to do with the block of each sample that counts.
template <typename Visit>
__device__ inline void each_block(const float *points, int i, int steps, Camera cam, Grid grid,
                                  Visit visit) {
  const Ray ray = ray_to(points, i, cam);
  for (int s = -steps; s <= steps; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    if (sample.sdf < -grid.trunc) continue;
    visit(sample);
  }
}

extern "C" __global__ void allocate_eight(const float *points, Entry *table, int *coord,
                                          int *block_count, u64 *drop_count, int n, int steps,
                                          float voxel, float inv_voxel, float trunc, float cam_x,
                                          float cam_y, float cam_z, u32 table_mask, int capacity) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const Pool pool = pool_of_row(table, table_mask, coord, block_count, drop_count, capacity);
  each_block(points, i, steps, {cam_x, cam_y, cam_z}, {voxel, inv_voxel, trunc},
             [&](const Sample &s) { find_or_insert(pool, s.x >> 3, s.y >> 3, s.z >> 3); });
}

extern "C" __global__ void allocate_eight_no_wait(const float *points, Entry *table, int *coord,
                                                  int *block_count, u64 *drop_count, int n,
                                                  int steps, float voxel, float inv_voxel,
                                                  float trunc, float cam_x, float cam_y,
                                                  float cam_z, u32 table_mask, int capacity) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const Pool pool = pool_of_row(table, table_mask, coord, block_count, drop_count, capacity);
  each_block(points, i, steps, {cam_x, cam_y, cam_z}, {voxel, inv_voxel, trunc},
             [&](const Sample &s) { insert_without_waiting(pool, s.x >> 3, s.y >> 3, s.z >> 3); });
}

extern "C" __global__ void
update_eight(const float *__restrict__ points, const float *__restrict__ point_weight,
             const unsigned char *__restrict__ point_color, const Entry *__restrict__ table,
             float *tsdf, float *weight, float *r, float *g, float *b, int n, int steps,
             float voxel, float inv_voxel, float trunc, float inv_trunc, float cam_x, float cam_y,
             float cam_z, u32 table_mask, float weight_cap, int capacity) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const size_t row = blockIdx.y, at = row * capacity * 512;
  const Voxels voxels = {tsdf + at, weight + at, r + at, g + at, b + at};
  const Entry *own = table + row * (table_mask + 1);
  const Observation seen = observation_of(point_weight, point_color, i);
  each_block(points, i, steps, {cam_x, cam_y, cam_z}, {voxel, inv_voxel, trunc},
             [&](const Sample &s) {
               const int block = find(own, table_mask, s.x >> 3, s.y >> 3, s.z >> 3);
               if (block >= 0) add_sample(voxels, block, s, seen, inv_trunc, weight_cap);
             });
}
