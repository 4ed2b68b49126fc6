// Stage "update": adds every point to the voxels along its ray, in blocks that the table already
// knows. One thread a point. `update` looks each sample's block up, `update_ray` only when the ray
// enters another.
#include "tsdf.cuh"

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
    if (block >= 0) add(voxels, block, sample, seen, inv_trunc, weight_cap);
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
    if (block >= 0) add(voxels, block, sample, seen, inv_trunc, weight_cap);
  }
}
