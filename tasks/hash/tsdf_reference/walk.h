/* The walk along a ray, in binary64 with error intervals: which voxels a binary32 kernel may give a
 * sample to. Plain values; nothing is owned. */
#ifndef TSDF_WALK_H
#define TSDF_WALK_H

#include <stdbool.h>
#include <stdint.h>

enum { TSDF_HITS_MAX = 8 };

/* The scalars that a kernel gets, as it gets them. */
typedef struct tsdf_view {
  float cam[3];
  float voxel, inv_voxel; /* metres, 1 / metres */
  float trunc, inv_trunc;
  int steps; /* samples on each side of the point */
} tsdf_view;

typedef struct tsdf_ray {
  float point[3];
  double p[3], u[3];
  double length; /* distance of the point from the camera; 0: no direction */
} tsdf_ray;

typedef struct tsdf_hit {
  int32_t voxel[3];
  bool optional; /* lies within rounding of a border or of the cut: a kernel may leave it out */
  bool nominal;  /* the plain binary32 walk without fused operations takes it */
} tsdf_hit;

tsdf_ray tsdf_ray_to(const tsdf_view *view, const float point[3]);

/* Voxels that may get sample `s` of the ray; returns how many (0: certainly cut). */
int tsdf_sample(const tsdf_view *view, const tsdf_ray *ray, int s, tsdf_hit hits[TSDF_HITS_MAX]);

/* Signed distance of a voxel's centre along the ray, and the most that a binary32 evaluation may be
 * off. */
double tsdf_distance(const tsdf_view *view, const tsdf_ray *ray, const int32_t voxel[3],
                     double *slack);

/* Unit roundoff of binary32. */
#define TSDF_EPS 0x1p-24

#endif
