// Stage "allocate": gives every block that a ray passes near its point an entry of the table and a
// place in the pool. One thread a point. `allocate` is the plain algorithm, `allocate_ray` asks the
// table less often.
#include "tsdf.cuh"

extern "C" __global__ void allocate(const float *points, Entry *table, int *coord, int *block_count,
                                    u64 *drop_count, int n, int steps, float voxel, float inv_voxel,
                                    float trunc, float cam_x, float cam_y, float cam_z,
                                    u32 table_mask, int capacity) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const Camera cam = {cam_x, cam_y, cam_z};
  const Grid grid = {voxel, inv_voxel, trunc};
  const Pool pool = {table, table_mask, coord, block_count, drop_count, capacity};
  const Ray ray = ray_to(points, i, cam);
  for (int s = -steps; s <= steps; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    if (sample.sdf < -trunc) continue;
    find_or_insert(pool, sample.x >> 3, sample.y >> 3, sample.z >> 3);
  }
}

// Levers on top: a ray skips a block equal to its previous one (about two of three samples); the
// lanes of a warp that want the same block send one of them; a block is published before its coord;
// several threads may share a ray (rows of the grid).
extern "C" __global__ void allocate_ray(const float *points, Entry *table, int *coord,
                                        int *block_count, u64 *drop_count, int n, int steps,
                                        float voxel, float inv_voxel, float trunc, float cam_x,
                                        float cam_y, float cam_z, u32 table_mask, int capacity) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const Camera cam = {cam_x, cam_y, cam_z};
  const Grid grid = {voxel, inv_voxel, trunc};
  const Pool pool = {table, table_mask, coord, block_count, drop_count, capacity};
  // Lanes past the end walk the last ray but never ask: the warp's votes need all of them.
  const Ray ray = ray_to(points, min(i, n - 1), cam);
  const Span span = span_of(steps);
  long long previous = kEmpty;
  for (int s = span.first; s <= span.last; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    const int x = sample.x >> 3, y = sample.y >> 3, z = sample.z >> 3;
    const long long key = block_key(x, y, z);
    const bool asks = i < n && sample.sdf >= -trunc && key != previous;
    const u32 asking = __ballot_sync(kFullWarp, asks);
    if (asks) {
      previous = key;
      const u32 same = __match_any_sync(asking, key);
      if ((threadIdx.x & 31) == __ffs((int)same) - 1)
        find_or_insert<Publish::before_coord>(pool, x, y, z);
    }
    __syncwarp();
  }
}

// The same, but each lane looks its block up, and only those that miss it find out who wants the
// same: after the first rays nearly all blocks are there, and a look that several lanes make at the
// same entry is one request.
extern "C" __global__ void allocate_late(const float *points, Entry *table, int *coord,
                                         int *block_count, u64 *drop_count, int n, int steps,
                                         float voxel, float inv_voxel, float trunc, float cam_x,
                                         float cam_y, float cam_z, u32 table_mask, int capacity) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const Camera cam = {cam_x, cam_y, cam_z};
  const Grid grid = {voxel, inv_voxel, trunc};
  const Pool pool = {table, table_mask, coord, block_count, drop_count, capacity};
  const Ray ray = ray_to(points, min(i, n - 1), cam);
  const Span span = span_of(steps);
  long long previous = kEmpty;
  for (int s = span.first; s <= span.last; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    const int x = sample.x >> 3, y = sample.y >> 3, z = sample.z >> 3;
    const long long key = block_key(x, y, z);
    bool misses = i < n && sample.sdf >= -trunc && key != previous;
    u32 slot = block_hash(x, y, z) & pool.mask;
    if (misses) {
      previous = key;
      misses = !walk_to(pool, key, slot);
    }
    const u32 missing = __ballot_sync(kFullWarp, misses);
    if (misses) {
      const u32 same = __match_any_sync(missing, key);
      if ((threadIdx.x & 31) == __ffs((int)same) - 1)
        insert_from<Publish::before_coord>(pool, slot, x, y, z);
    }
    __syncwarp();
  }
}
