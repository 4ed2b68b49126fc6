// Stage "fuse": allocate and update. Two launches of their kernels (this file carries them), or one
// pass that adds to a voxel as soon as the insert knows its block: `fuse`, and `fuse_ray` with the
// levers of the others.
#include "allocate.cu"
#include "update.cu"

extern "C" __global__ void
fuse(const float *points, const float *point_weight, const unsigned char *point_color, Entry *table,
     int *coord, int *block_count, u64 *drop_count, float *tsdf, float *weight, float *r, float *g,
     float *b, int n, int steps, float voxel, float inv_voxel, float trunc, float inv_trunc,
     float cam_x, float cam_y, float cam_z, u32 table_mask, int capacity, float weight_cap) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const Camera cam = {cam_x, cam_y, cam_z};
  const Grid grid = {voxel, inv_voxel, trunc};
  const Pool pool = {table, table_mask, coord, block_count, drop_count, capacity};
  const Voxels voxels = {tsdf, weight, r, g, b};
  const Ray ray = ray_to(points, i, cam);
  const Observation seen = observation_of(point_weight, point_color, i);
  for (int s = -steps; s <= steps; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    if (sample.sdf < -trunc) continue;
    const int block = find_or_insert(pool, sample.x >> 3, sample.y >> 3, sample.z >> 3);
    if (block >= 0) add_sample(voxels, block, sample, seen, inv_trunc, weight_cap);
  }
}

extern "C" __global__ void fuse_ray(const float *points, const float *point_weight,
                                    const unsigned char *point_color, Entry *table, int *coord,
                                    int *block_count, u64 *drop_count, float *tsdf, float *weight,
                                    float *r, float *g, float *b, int n, int steps, float voxel,
                                    float inv_voxel, float trunc, float inv_trunc, float cam_x,
                                    float cam_y, float cam_z, u32 table_mask, int capacity,
                                    float weight_cap) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const Camera cam = {cam_x, cam_y, cam_z};
  const Grid grid = {voxel, inv_voxel, trunc};
  const Pool pool = {table, table_mask, coord, block_count, drop_count, capacity};
  const Voxels voxels = {tsdf, weight, r, g, b};
  const int own = min(i, n - 1); // lanes past the end vote but neither ask nor add
  const Ray ray = ray_to(points, own, cam);
  const Observation seen = observation_of(point_weight, point_color, own);
  long long previous = kEmpty;
  int block = kDropped;
  for (int s = -steps; s <= steps; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    const int x = sample.x >> 3, y = sample.y >> 3, z = sample.z >> 3;
    const long long key = block_key(x, y, z);
    const bool adds = i < n && sample.sdf >= -trunc;
    const bool asks = adds && key != previous;
    const u32 asking = __ballot_sync(kFullWarp, asks);
    if (asks) {
      previous = key;
      const u32 same = __match_any_sync(asking, key);
      const int leader = __ffs((int)same) - 1;
      if ((threadIdx.x & 31) == leader) block = find_or_insert<Publish::before_coord>(pool, x, y, z);
      block = __shfl_sync(same, block, leader);
    }
    if (adds && block >= 0) add_sample(voxels, block, sample, seen, inv_trunc, weight_cap);
    __syncwarp();
  }
}
