// The walk of tsdf.cuh in fewer instructions: floors are additions, which a GPU does 8 times as
// fast as conversions, and the root is the hardware's own. Plain CUDA C++ for NVRTC, without
// headers.
#pragma once
#include "tsdf.cuh"

// Added to a number of magnitude below 2^22, 1.5 * 2^23 leaves an integer in its lowest bits.
constexpr float kShift = 12582912.0f;
constexpr int kShiftBits = 0x4b400000;
constexpr float kReach = 4194304.0f;

// Whether every sample of a ray is near enough to the origin for that.
__device__ inline bool is_near(const Ray &ray, int steps, Grid grid) {
  const float far = fmaxf(fmaxf(fabsf(ray.x), fabsf(ray.y)), fabsf(ray.z));
  return far * grid.inv_voxel + (float)(steps + 1) < kReach;
}

struct Floor {
  int number;
  float centre; // number + 0.5
};

__device__ inline Floor floor_of(float value) {
  const float shifted = __fadd_rd(value, kShift);
  return {__float_as_int(shifted) - kShiftBits, (shifted - kShift) + 0.5f};
}

// Within an ulp or two of sqrtf.
__device__ inline float root(float value) {
  float result;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

__device__ inline Sample lean_sample_at(const Ray &ray, int s, Camera cam, Grid grid) {
  const float t = (float)s * grid.voxel;
  const Floor x = floor_of((ray.x + ray.ux * t) * grid.inv_voxel);
  const Floor y = floor_of((ray.y + ray.uy * t) * grid.inv_voxel);
  const Floor z = floor_of((ray.z + ray.uz * t) * grid.inv_voxel);
  const float dx = x.centre * grid.voxel - cam.x;
  const float dy = y.centre * grid.voxel - cam.y;
  const float dz = z.centre * grid.voxel - cam.z;
  return {x.number, y.number, z.number, ray.length - root(dx * dx + dy * dy + dz * dz)};
}
