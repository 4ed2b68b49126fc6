// Stage "update": adds every point to the voxels along its ray, in blocks that the table already
// knows. One thread a point. `update` looks each sample's block up, `update_ray` only when the ray
// enters another one, and `update_warp` also adds up within the warp what goes to the same voxel.
#include "warp_sum.cuh"

extern "C" __global__ void update(const float *__restrict__ points,
                                  const float *__restrict__ point_weight,
                                  const unsigned char *__restrict__ point_color,
                                  const Entry *__restrict__ table, float *tsdf, float *weight,
                                  float *r, float *g, float *b, int n, int steps, float voxel,
                                  float inv_voxel, float trunc, float inv_trunc, float cam_x,
                                  float cam_y, float cam_z, u32 table_mask, float weight_cap) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const Camera cam = {cam_x, cam_y, cam_z};
  const Grid grid = {voxel, inv_voxel, trunc};
  const Voxels voxels = {tsdf, weight, r, g, b};
  const Ray ray = ray_to(points, i, cam);
  const Observation seen = observation_of(point_weight, point_color, i);
  for (int s = -steps; s <= steps; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    if (sample.sdf < -trunc) continue;
    const int block = find(table, table_mask, sample.x >> 3, sample.y >> 3, sample.z >> 3);
    if (block >= 0) add_sample(voxels, block, sample, seen, inv_trunc, weight_cap);
  }
}

extern "C" __global__ void update_ray(const float *__restrict__ points,
                                      const float *__restrict__ point_weight,
                                      const unsigned char *__restrict__ point_color,
                                      const Entry *__restrict__ table, float *tsdf, float *weight,
                                      float *r, float *g, float *b, int n, int steps, float voxel,
                                      float inv_voxel, float trunc, float inv_trunc, float cam_x,
                                      float cam_y, float cam_z, u32 table_mask, float weight_cap) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const Camera cam = {cam_x, cam_y, cam_z};
  const Grid grid = {voxel, inv_voxel, trunc};
  const Voxels voxels = {tsdf, weight, r, g, b};
  const Ray ray = ray_to(points, i, cam);
  const Observation seen = observation_of(point_weight, point_color, i);
  long long previous = kEmpty;
  int block = kDropped;
  for (int s = -steps; s <= steps; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    if (sample.sdf < -trunc) continue;
    const int x = sample.x >> 3, y = sample.y >> 3, z = sample.z >> 3;
    const long long key = block_key(x, y, z);
    if (key != previous) {
      previous = key;
      block = find(table, table_mask, x, y, z);
    }
    if (block >= 0) add_sample(voxels, block, sample, seen, inv_trunc, weight_cap);
  }
}

extern "C" __global__ void update_warp(const float *__restrict__ points,
                                       const float *__restrict__ point_weight,
                                       const unsigned char *__restrict__ point_color,
                                       const Entry *__restrict__ table, float *tsdf, float *weight,
                                       float *r, float *g, float *b, int n, int steps, float voxel,
                                       float inv_voxel, float trunc, float inv_trunc, float cam_x,
                                       float cam_y, float cam_z, u32 table_mask, float weight_cap) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const u32 lane = threadIdx.x & 31;
  const Camera cam = {cam_x, cam_y, cam_z};
  const Grid grid = {voxel, inv_voxel, trunc};
  const Voxels voxels = {tsdf, weight, r, g, b};
  const int own = min(i, n - 1); // lanes past the end vote but never add
  const Ray ray = ray_to(points, own, cam);
  const Observation observed = observation_of(point_weight, point_color, own);
  long long previous = kEmpty;
  int block = kDropped;
  const Span span = span_of(steps);
  for (int s = span.first; s <= span.last; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    bool adds = i < n && sample.sdf >= -trunc;
    const int x = sample.x >> 3, y = sample.y >> 3, z = sample.z >> 3;
    const long long key = block_key(x, y, z);
    if (adds && key != previous) {
      previous = key;
      block = find(table, table_mask, x, y, z);
    }
    const size_t at = voxel_index(block, sample);
    adds = adds && block >= 0 && !is_full(voxels, at, weight_cap);
    const u32 adding = __ballot_sync(kFullWarp, adds);
    const u32 same = adds ? __match_any_sync(adding, (u32)at) : 0;
    float sum = clamped(sample.sdf, inv_trunc) * observed.weight;
    Observation seen = observed;
    sum_of_group(same, lane, sum, seen);
    if (adds && lane == __ffs((int)same) - 1) add(voxels, at, sum, seen);
  }
}
