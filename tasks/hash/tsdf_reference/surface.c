/* The analytic check: a sphere seen from its centre has the signed distance r - |centre of voxel|,
 * so the surface that the volume holds must be that sphere, whatever the reference thinks. */
#include "verify.h"

#include <math.h>

typedef struct surface {
  const tsdf_model *model;
  const tsdf_volume *volume;
  const int32_t *places;
} surface;

/* The mean signed distance of a voxel in units of trunc; NAN where nothing was added. */
static double field(const surface *s, const int32_t voxel[3]) {
  int32_t at[3];
  tsdf_block_of(voxel, at);
  const uint32_t block = tsdf_keymap_find(&s->model->map, tsdf_key(at));
  if (block == UINT32_MAX || s->places[block] < 0) return NAN;
  const size_t i = (size_t)s->places[block] * TSDF_BLOCK_VOXELS + tsdf_local(voxel);
  const double weight = s->volume->sums[1][i];
  return weight > 0 ? s->volume->sums[0][i] / weight : NAN;
}

/* How far the crossing between a voxel and its neighbour along `axis` is from the sphere, in
 * voxels; NAN when the field does not change its sign there. */
static double crossing(const surface *s, const int32_t voxel[3], int axis, double here,
                       const double centre[3], double radius) {
  int32_t next[3] = {voxel[0], voxel[1], voxel[2]};
  ++next[axis];
  const double there = field(s, next);
  if (isnan(there) || (here < 0) == (there < 0)) return NAN;
  const double size = s->model->in.view.voxel;
  double square = 0;
  for (int a = 0; a < 3; ++a) {
    const double step = a == axis ? here / (here - there) : 0;
    const double at = (voxel[a] + 0.5 + step) * size - centre[a];
    square += at * at;
  }
  return fabs(sqrt(square) - radius) / size;
}

static void block_crossings(const surface *s, const tsdf_block *block, const double centre[3],
                            double radius, double *worst, uint64_t *count) {
  for (int32_t i = 0; i < TSDF_BLOCK_VOXELS; ++i) {
    const int32_t voxel[3] = {block->at[0] * 8 + (i & 7), block->at[1] * 8 + (i >> 3 & 7),
                              block->at[2] * 8 + (i >> 6)};
    const double here = field(s, voxel);
    for (int axis = 0; axis < 3 && !isnan(here); ++axis) {
      const double off = crossing(s, voxel, axis, here, centre, radius);
      if (isnan(off)) continue;
      *worst = fmax(*worst, off);
      ++*count;
    }
  }
}

void tsdf_verify_sphere(const tsdf_model *model, const tsdf_volume *volume, const int32_t *places,
                        const double centre[3], double radius, double limit, tsdf_report *report,
                        double *worst, uint64_t *crossings) {
  const surface s = {model, volume, places};
  double largest = 0;
  uint64_t count = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 16) reduction(max : largest) reduction(+ : count)
#endif
  for (uint32_t b = 0; b < model->map.count; ++b)
    if (places[b] >= 0) block_crossings(&s, &model->blocks[b], centre, radius, &largest, &count);
  *worst = largest;
  *crossings = count;
  if (count == 0)
    tsdf_report_add(report, "surface", false, "the volume holds no zero crossing at all");
  else
    tsdf_report_add(report, "surface", largest <= limit,
                    "%llu zero crossings, the farthest %.3f voxels from the sphere (limit %g)",
                    (unsigned long long)count, largest, limit);
}
