/* The gathering update: dense.h. A voxel within rounding of another pixel, of the image's plane or
 * of the -trunc cut may fall either way: its slack accepts all of these. */
#include "dense.h"

#include <math.h>
#include <stdbool.h>

#include "walk.h"

#define VAST 0x1p40 /* times a few TSDF_EPS it is above any term */

enum { VOXELS = 512 };

/* A place seen from the camera, and the most that a binary32 evaluation may be off. */
typedef struct place {
  double at[3], error[3];
} place;

static place place_of(const tsdf_dense *dense, const tsdf_image *image, const int32_t block[3],
                      int index) {
  const int local[3] = {index % 8, index / 8 % 8, index / 64};
  place p;
  for (int axis = 0; axis < 3; ++axis) {
    const double metres = (8.0 * block[axis] + local[axis] + 0.5) * (double)dense->voxel;
    const double cam = image->cam[axis];
    p.at[axis] = metres - cam;
    p.error[axis] = 2 * TSDF_EPS * (fabs(metres) + fabs(cam));
  }
  return p;
}

typedef enum outcome { NO, YES, EITHER } outcome;

/* The pixel's number along one axis: YES and *number, NO when outside of the image. Division may be
 * an approximate one. */
static outcome pixel_along(const tsdf_image *image, const place *p, int axis, int *number) {
  const double focal = image->focal, centre = image->centre, z = p->at[2];
  const double tangent = p->at[axis] / z, exact = tangent * focal + centre;
  const double error = (p->error[axis] + fabs(tangent) * p->error[2]) / z * focal * 2 +
                       8 * TSDF_EPS * (fabs(tangent * focal) + fabs(centre));
  const double low = floor(exact - error), high = floor(exact + error);
  if (high < 0 || low >= image->side) return NO;
  if (low < high) return EITHER;
  *number = (int)low;
  return YES;
}

static outcome pixel_of(const tsdf_image *image, const place *p, size_t *pixel) {
  int u = 0, v = 0;
  if (p->at[2] + p->error[2] <= 0) return NO;
  if (p->at[2] - p->error[2] <= 0) return EITHER;
  const outcome along_x = pixel_along(image, p, 0, &u), along_y = pixel_along(image, p, 1, &v);
  if (along_x == NO || along_y == NO) return NO;
  if (along_x == EITHER || along_y == EITHER) return EITHER;
  *pixel = (size_t)v * (size_t)image->side + (size_t)u;
  return YES;
}

/* What one voxel takes: the pixel and the signed distance. */
static outcome look(const tsdf_dense *dense, const tsdf_image *image, const place *p, size_t *pixel,
                    double *sdf) {
  const outcome shown = pixel_of(image, p, pixel);
  if (shown != YES) return shown;
  const double depth = image->depth[*pixel];
  if (depth <= 0) return NO;
  *sdf = depth - p->at[2];
  const double error = p->error[2] + TSDF_EPS * fabs(*sdf), beyond = *sdf + (double)dense->trunc;
  if (beyond + error < 0) return NO;
  return beyond - error < 0 ? EITHER : YES;
}

static double clamped(double value) {
  return value < -1 ? -1 : value > 1 ? 1 : value;
}

static void add(const tsdf_dense *dense, const tsdf_image *image, size_t at, size_t pixel,
                double sdf, double depth_scale) {
  const double w = image->weight[pixel];
  dense->sums[0][at] += clamped(sdf * (double)dense->inv_trunc) * w;
  dense->sums[1][at] += w;
  for (size_t c = 0; c < 3; ++c) dense->sums[2 + c][at] += image->color[3 * pixel + c] * w;
  dense->slack[at] = depth_scale * (double)dense->inv_trunc * w;
}

void tsdf_dense_block(const tsdf_dense *dense, const tsdf_image *image, int32_t block,
                      const int32_t at[3], uint64_t *seen, uint64_t *optional) {
  for (int i = 0; i < VOXELS; ++i) {
    const size_t voxel = (size_t)block * VOXELS + (size_t)i;
    const place p = place_of(dense, image, at, i);
    size_t pixel = 0;
    double sdf = 0;
    const outcome found = look(dense, image, &p, &pixel, &sdf);
    if (found == YES)
      add(dense, image, voxel, pixel, sdf, p.error[2] / TSDF_EPS + fabs(p.at[2]) + fabs(sdf));
    if (found == EITHER) dense->slack[voxel] = VAST;
    *seen += found == YES;
    *optional += found == EITHER;
  }
}

static void put(tsdf_image *image, const float point[3]) {
  const double x = (double)point[0] - (double)image->cam[0];
  const double y = (double)point[1] - (double)image->cam[1];
  const double z = (double)point[2] - (double)image->cam[2];
  if (!(z > 0)) return;
  const double u = floor(x / z * (double)image->focal + (double)image->centre);
  const double v = floor(y / z * (double)image->focal + (double)image->centre);
  const bool inside = u >= 0 && u < image->side && v >= 0 && v < image->side;
  if (!inside) return;
  float *depth = &image->depth[(size_t)v * (size_t)image->side + (size_t)u];
  if (*depth <= 0 || z < (double)*depth) *depth = (float)z;
}

void tsdf_depth(tsdf_image *image, const float *points, size_t n) {
  for (size_t i = 0; i < n; ++i) put(image, points + 3 * i);
}
