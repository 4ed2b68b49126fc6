/* Sums over neighbouring voxels of a blocked volume: stencil.h. Blocks are found by their
 * coordinates, not by the table that kernels use. */
#include "stencil.h"

#include <math.h>
#include <stdlib.h>

#include "fail.h"
#include "model.h"

static int32_t number_at(const tsdf_keymap *map, const int32_t at[3], int t) {
  const int32_t block[3] = {at[0] + t % 3 - 1, at[1] + t / 3 % 3 - 1, at[2] + t / 9 - 1};
  const uint32_t number = tsdf_keymap_find(map, tsdf_key(block));
  return number == UINT32_MAX ? -1 : (int32_t)number;
}

pg_code tsdf_neighbors(const int32_t *coord, uint32_t blocks, int32_t *neighbor, pg_error *error) {
  tsdf_keymap map = {0};
  for (uint32_t b = 0; b < blocks; ++b) {
    if (tsdf_keymap_add(&map, tsdf_key(coord + 3 * (size_t)b)) == UINT32_MAX) {
      tsdf_keymap_free(&map);
      return tsdf_fail(error, PG_MEMORY, "no memory for the neighbours of %u blocks", blocks);
    }
  }
  for (uint32_t b = 0; b < blocks; ++b)
    for (int t = 0; t < TSDF_NEAR; ++t)
      neighbor[TSDF_NEAR * (size_t)b + (size_t)t] = number_at(&map, coord + 3 * (size_t)b, t);
  tsdf_keymap_free(&map);
  return PG_OK;
}

/* One voxel of the block whose neighbours are given, -1 to 8 along each axis. */
static double value_at(const float *field, const int32_t *near, const int32_t voxel[3]) {
  int which = 0;
  for (int axis = 2; axis >= 0; --axis)
    which = 3 * which + (voxel[axis] < 0 ? 0 : voxel[axis] < 8 ? 1 : 2);
  if (near[which] < 0) return 0;
  return field[(size_t)near[which] * TSDF_BLOCK_VOXELS + tsdf_local(voxel)];
}

static void one_voxel(const float *field, const int32_t *near, int index, int taps, double *sum,
                      double *magnitude) {
  *sum = *magnitude = 0;
  for (int t = 0; t < TSDF_NEAR; ++t) {
    const int d[3] = {t % 3 - 1, t / 3 % 3 - 1, t / 9 - 1};
    if (taps == 7 && abs(d[0]) + abs(d[1]) + abs(d[2]) > 1) continue;
    const int32_t voxel[3] = {index % 8 + d[0], index / 8 % 8 + d[1], index / 64 + d[2]};
    const double value = value_at(field, near, voxel);
    *sum += value;
    *magnitude += fabs(value);
  }
}

void tsdf_stencil(const float *field, const int32_t *neighbor, uint32_t blocks, int taps,
                  double *sum, double *magnitude) {
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
  for (uint32_t b = 0; b < blocks; ++b) {
    for (int v = 0; v < TSDF_BLOCK_VOXELS; ++v) {
      const size_t at = (size_t)b * TSDF_BLOCK_VOXELS + (size_t)v;
      one_voxel(field, neighbor + TSDF_NEAR * (size_t)b, v, taps, &sum[at], &magnitude[at]);
    }
  }
}
