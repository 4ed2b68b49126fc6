/* Sums over neighbouring voxels of a blocked volume, in binary64. Nothing is owned. */
#ifndef TSDF_STENCIL_H
#define TSDF_STENCIL_H

#include <stdint.h>

#include "error.h"

enum { TSDF_NEAR = 27 };

/* The number of each block's neighbours at (dx, dy, dz), -1 to 1 each, x fastest; -1: not there.
 * `coord` has x, y, z of each block, all different. Errors: PG_MEMORY. */
pg_code tsdf_neighbors(const int32_t *coord, uint32_t blocks, int32_t *neighbor, pg_error *error);

/* For each voxel the sum of itself and its neighbours, 6 of them (taps 7) or 26 (taps 27), where
 * voxels of blocks that are not there count as 0; and the sum of their magnitudes. */
void tsdf_stencil(const float *field, const int32_t *neighbor, uint32_t blocks, int taps,
                  double *sum, double *magnitude);

#endif
