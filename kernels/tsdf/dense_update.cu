// Stage "dense_update": every voxel of the active blocks gathers from a depth image. One thread
// block a block of the volume, one thread a voxel, no atomics. `dense_update_regular`, the control,
// has the active blocks one after the other instead of a list of them.
#include "tsdf.cuh"

struct Image {
  const float *depth, *weight;
  const unsigned char *color;
  int side; // pixels, either way
  float focal, centre;
};

// The centre of voxel i of 8 in block `block`, along one axis, seen from the camera.
__device__ inline float seen_at(int block, int i, float voxel, float cam) {
  return ((float)(8 * block + i) + 0.5f) * voxel - cam;
}

// The pixel that shows a place; -1: none.
__device__ inline int pixel_of(const Image &image, float x, float y, float z) {
  if (z <= 0.0f) return -1;
  const int u = __float2int_rd(x / z * image.focal + image.centre);
  const int v = __float2int_rd(y / z * image.focal + image.centre);
  const bool inside = u >= 0 && u < image.side && v >= 0 && v < image.side;
  return inside ? v * image.side + u : -1;
}

__device__ inline void gather(const Image &image, const Voxels &voxels, int block, const int *at,
                              Grid grid, float inv_trunc, Camera cam) {
  const int t = (int)threadIdx.x;
  const float z = seen_at(at[2], t >> 6, grid.voxel, cam.z);
  const int pixel = pixel_of(image, seen_at(at[0], t & 7, grid.voxel, cam.x),
                             seen_at(at[1], t >> 3 & 7, grid.voxel, cam.y), z);
  if (pixel < 0) return;
  const float depth = image.depth[pixel], sdf = depth - z;
  if (depth <= 0.0f || sdf < -grid.trunc) return;
  const Observation seen = observation_of(image.weight, image.color, pixel);
  const size_t i = (size_t)block * 512 + (size_t)t;
  voxels.tsdf[i] += clamped(sdf, inv_trunc) * seen.weight;
  voxels.weight[i] += seen.weight;
  voxels.r[i] += seen.r;
  voxels.g[i] += seen.g;
  voxels.b[i] += seen.b;
}

extern "C" __global__ void
dense_update(const int *__restrict__ coord, const int *__restrict__ active, const int *active_count,
             const float *__restrict__ depth, const float *__restrict__ image_weight,
             const unsigned char *__restrict__ image_color, float *tsdf, float *weight, float *r,
             float *g, float *b, int side, float focal, float centre, float voxel, float trunc,
             float inv_trunc, float cam_x, float cam_y, float cam_z) {
  const Image image = {depth, image_weight, image_color, side, focal, centre};
  const int count = *active_count;
  for (int k = (int)blockIdx.x; k < count; k += (int)gridDim.x) {
    const int block = active[k];
    gather(image, {tsdf, weight, r, g, b}, block, coord + 3 * (size_t)block, {voxel, 0.0f, trunc},
           inv_trunc, {cam_x, cam_y, cam_z});
  }
}

extern "C" __global__ void
dense_update_regular(const int *__restrict__ coord, const int *active_count,
                     const float *__restrict__ depth, const float *__restrict__ image_weight,
                     const unsigned char *__restrict__ image_color, float *tsdf, float *weight,
                     float *r, float *g, float *b, int side, float focal, float centre, float voxel,
                     float trunc, float inv_trunc, float cam_x, float cam_y, float cam_z) {
  const Image image = {depth, image_weight, image_color, side, focal, centre};
  const int count = *active_count;
  for (int block = (int)blockIdx.x; block < count; block += (int)gridDim.x)
    gather(image, {tsdf, weight, r, g, b}, block, coord + 3 * (size_t)block, {voxel, 0.0f, trunc},
           inv_trunc, {cam_x, cam_y, cam_z});
}
