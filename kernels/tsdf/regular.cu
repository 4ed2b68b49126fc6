// Regular controls of allocate and update: the same walk, points and sums, with a dense grid of
// blocks in place of the hash table. One thread a point.
#include "lattice.cuh"

// Marks the blocks that rays pass: no key, no probe chain, no claim, nothing to wait for.
extern "C" __global__ void allocate_regular(const float *points, int *present, int n, int steps,
                                            float voxel, float inv_voxel, float trunc, float cam_x,
                                            float cam_y, float cam_z, int first_x, int first_y,
                                            int first_z, int wide, int high) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const Camera cam = {cam_x, cam_y, cam_z};
  const Grid grid = {voxel, inv_voxel, trunc};
  const Lattice lattice = {first_x, first_y, first_z, wide, high};
  const Ray ray = ray_to(points, i, cam);
  for (int s = -steps; s <= steps; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    if (sample.sdf < -trunc) continue;
    int *at = &present[place_of(lattice, sample)];
    if (*at == 0) store_relaxed(at, 1);
  }
}

// A perfect index: one load gives the block.
extern "C" __global__ void
update_regular(const float *__restrict__ points, const float *__restrict__ point_weight,
               const unsigned char *__restrict__ point_color, const int *__restrict__ index,
               float *tsdf, float *weight, float *r, float *g, float *b, int n, int steps,
               float voxel, float inv_voxel, float trunc, float inv_trunc, float cam_x, float cam_y,
               float cam_z, int first_x, int first_y, int first_z, int wide, int high,
               float weight_cap) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const Camera cam = {cam_x, cam_y, cam_z};
  const Grid grid = {voxel, inv_voxel, trunc};
  const Lattice lattice = {first_x, first_y, first_z, wide, high};
  const Voxels voxels = {tsdf, weight, r, g, b};
  const Ray ray = ray_to(points, i, cam);
  const Observation seen = observation_of(point_weight, point_color, i);
  for (int s = -steps; s <= steps; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    if (sample.sdf < -trunc) continue;
    const int block = index[place_of(lattice, sample)];
    if (block >= 0) add_sample(voxels, block, sample, seen, inv_trunc, weight_cap);
  }
}

// No table and no index: the grid's own blocks hold the voxels, used or not.
extern "C" __global__ void
update_dense(const float *__restrict__ points, const float *__restrict__ point_weight,
             const unsigned char *__restrict__ point_color, float *tsdf, float *weight, float *r,
             float *g, float *b, int n, int steps, float voxel, float inv_voxel, float trunc,
             float inv_trunc, float cam_x, float cam_y, float cam_z, int first_x, int first_y,
             int first_z, int wide, int high, float weight_cap) {
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const Camera cam = {cam_x, cam_y, cam_z};
  const Grid grid = {voxel, inv_voxel, trunc};
  const Lattice lattice = {first_x, first_y, first_z, wide, high};
  const Voxels voxels = {tsdf, weight, r, g, b};
  const Ray ray = ray_to(points, i, cam);
  const Observation seen = observation_of(point_weight, point_color, i);
  for (int s = -steps; s <= steps; ++s) {
    const Sample sample = sample_at(ray, s, cam, grid);
    if (sample.sdf < -trunc) continue;
    add_sample(voxels, place_of(lattice, sample), sample, seen, inv_trunc, weight_cap);
  }
}
