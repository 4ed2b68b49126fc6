/* The order that points are stored in. The caller owns the points; `moved` has room for as many. */
#ifndef TSDF_ORDER_H
#define TSDF_ORDER_H

#include <stdint.h>

/* Along the Morton curve of their voxels, so that neighbours in memory are neighbours in space.
 * `keys` has room for n pairs. */
void tsdf_order_morton(const float *points, uint32_t n, double voxel, uint64_t (*keys)[2],
                       float *moved);

/* At random: neighbours in memory have nothing in common. Equal seeds, equal orders. */
void tsdf_order_shuffled(const float *points, uint32_t n, uint64_t seed, float *moved);

#endif
