/* The gathering update: what every voxel of a list of blocks takes from a depth image, in binary64
 * with error intervals. Nothing is owned. */
#ifndef TSDF_DENSE_H
#define TSDF_DENSE_H

#include <stddef.h>
#include <stdint.h>

/* A square image seen from cam along z: pixel (u, v) = floor(x / z * focal + centre) and so on. */
typedef struct tsdf_image {
  float *depth; /* along z; 0: nothing was seen */
  const float *weight;
  const uint8_t *color; /* r, g, b each */
  int side;
  float focal, centre;
  float cam[3];
} tsdf_image;

typedef struct tsdf_dense {
  float voxel, trunc, inv_trunc;
  double *sums[5]; /* tsdf, weight, r, g, b: 512 of each place of the pool */
  double *slack;   /* as many: the terms' magnitude; vast where rounding may choose the outcome */
} tsdf_dense;

/* Set the depth of each pixel to that of the nearest of n points (x, y, z each) in it. */
void tsdf_depth(tsdf_image *image, const float *points, size_t n);

/* Add to the voxels of block number `block` at coordinates `at`. `seen` and `optional` count the
 * voxels that get something, and those that may fall either way. */
void tsdf_dense_block(const tsdf_dense *dense, const tsdf_image *image, int32_t block,
                      const int32_t at[3], uint64_t *seen, uint64_t *optional);

#endif
