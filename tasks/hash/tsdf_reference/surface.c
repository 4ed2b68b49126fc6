/* The analytic check: a sphere seen from its centre has the signed distance r - |centre of voxel|,
 * so the surface that the volume holds must be that sphere, whatever the reference thinks. */
#include "verify.h"

#include <math.h>

typedef struct surface {
  const tsdf_model *model;
  const tsdf_volume *volume;
  const int32_t *places;
} surface;

/* The mean signed distance of a voxel in units of trunc; NAN where nothing was added, or in a block
 * that has no place. */
static double field(const surface *s, int32_t place, int local) {
  if (place < 0) return NAN;
  const size_t i = (size_t)place * TSDF_BLOCK_VOXELS + (size_t)local;
  const double weight = s->volume->sums[1][i];
  return weight > 0 ? s->volume->sums[0][i] / weight : NAN;
}

/* The place of the next block along `axis`; -1: none. */
static int32_t place_after(const surface *s, const tsdf_block *block, int axis) {
  int32_t at[3] = {block->at[0], block->at[1], block->at[2]};
  ++at[axis];
  const uint32_t number = tsdf_keymap_find(&s->model->map, tsdf_key(at));
  return number == UINT32_MAX ? -1 : s->places[number];
}

/* How far the zero between a voxel and its neighbour along `axis` is from the sphere, in voxels. */
static double distance_of(const surface *s, const int32_t voxel[3], int axis, double here,
                          double there, const double centre[3], double radius) {
  const double size = s->model->in.view.voxel;
  double square = 0;
  for (int a = 0; a < 3; ++a) {
    const double step = a == axis ? here / (here - there) : 0;
    const double at = (voxel[a] + 0.5 + step) * size - centre[a];
    square += at * at;
  }
  return fabs(sqrt(square) - radius) / size;
}

static void block_crossings(const surface *s, uint32_t number, const double centre[3],
                            double radius, double *worst, uint64_t *count) {
  const tsdf_block *block = &s->model->blocks[number];
  const int32_t place = s->places[number];
  const int32_t after[3] = {place_after(s, block, 0), place_after(s, block, 1),
                            place_after(s, block, 2)};
  for (int i = 0; i < TSDF_BLOCK_VOXELS; ++i) {
    const int32_t voxel[3] = {block->at[0] * 8 + (i & 7), block->at[1] * 8 + (i >> 3 & 7),
                              block->at[2] * 8 + (i >> 6)};
    const double here = field(s, place, i);
    for (int axis = 0; axis < 3 && !isnan(here); ++axis) {
      const int step = 1 << 3 * axis, last = 7 * step;
      const bool leaves = (i & last) == last;
      const double there = field(s, leaves ? after[axis] : place, leaves ? i - last : i + step);
      if (isnan(there) || (here < 0) == (there < 0)) continue; /* no crossing */
      *worst = fmax(*worst, distance_of(s, voxel, axis, here, there, centre, radius));
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
    if (places[b] >= 0) block_crossings(&s, b, centre, radius, &largest, &count);
  *worst = largest;
  *crossings = count;
  if (count == 0)
    tsdf_report_add(report, "surface", false, "the volume holds no zero crossing at all");
  else
    tsdf_report_add(report, "surface", largest <= limit,
                    "%llu zero crossings, the farthest %.3f voxels from the sphere (limit %g)",
                    (unsigned long long)count, largest, limit);
}
