/* The error bounds below hold for every order of evaluation that keeps WORKLOAD's formulas: with or
 * without fused multiply-add, division or multiplication by a reciprocal, square roots up to 2 ulp
 * off. */
#include "walk.h"

#include <math.h>

/* Relative error of an offset u * s * voxel, in roundoffs: difference 1, squared length 2.5 (halved
 * by the root), root 2, reciprocal and product 3, the two products with s and voxel 2; rounded up.
 */
static const double OFFSET_ROUNDINGS = 12;

tsdf_ray tsdf_ray_to(const tsdf_view *view, const float point[3]) {
  tsdf_ray ray;
  double square = 0;
  for (int a = 0; a < 3; ++a) {
    ray.point[a] = point[a];
    ray.p[a] = point[a];
    ray.u[a] = (double)point[a] - view->cam[a];
    square += ray.u[a] * ray.u[a];
  }
  ray.length = sqrt(square);
  for (int a = 0; a < 3 && ray.length > 0; ++a) ray.u[a] /= ray.length;
  return ray;
}

/* The voxels that a sample may lie in along one axis: floor of an interval. Without an offset (the
 * point itself, or a ray that runs within a plane) nothing but the last product rounds, and that is
 * the same for all. */
static void axis_range(const tsdf_view *view, const tsdf_ray *ray, int s, int axis, int32_t *low,
                       int32_t *high) {
  const double inv = view->inv_voxel;
  const double offset = ray->u[axis] * s * (double)view->voxel;
  const double at = ray->p[axis] + offset;
  if (offset == 0) {
    *low = *high = (int32_t)floorf(ray->point[axis] * view->inv_voxel);
    return;
  }
  const double slack = 1.0001 * TSDF_EPS * inv * (OFFSET_ROUNDINGS * fabs(offset) + 2 * fabs(at));
  *low = (int32_t)floor(at * inv - slack);
  *high = (int32_t)floor(at * inv + slack);
}

double tsdf_distance(const tsdf_view *view, const tsdf_ray *ray, const int32_t voxel[3],
                     double *slack) {
  double square = 0, from_origin = 0;
  for (int a = 0; a < 3; ++a) {
    const double centre = (voxel[a] + 0.5) * (double)view->voxel;
    square += (centre - view->cam[a]) * (centre - view->cam[a]);
    from_origin += fabs(centre);
  }
  const double distance = ray->length - sqrt(square);
  /* Lengths: difference 1, sum of squares 1.5, root 2. Centres: up to 2 roundings each. */
  *slack =
      1.0001 * TSDF_EPS * (4.5 * (ray->length + sqrt(square)) + 2 * from_origin + fabs(distance));
  return distance;
}

/* The plain binary32 walk, as a kernel without fused operations does it. */
static bool nominal_sample(const tsdf_view *view, const tsdf_ray *ray, int s, int32_t voxel[3]) {
  float d[3], c[3];
  for (int a = 0; a < 3; ++a) d[a] = ray->point[a] - view->cam[a];
  const float length = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
  const float scale = 1.0f / length, t = (float)s * view->voxel;
  for (int a = 0; a < 3; ++a) {
    const float at = (ray->point[a] + d[a] * scale * t) * view->inv_voxel;
    voxel[a] = (int32_t)floorf(at);
    c[a] = ((float)voxel[a] + 0.5f) * view->voxel - view->cam[a];
  }
  return length - sqrtf(c[0] * c[0] + c[1] * c[1] + c[2] * c[2]) >= -view->trunc;
}

/* Unpack the corner'th combination of the axes' alternatives; false when it repeats an earlier one.
 */
static bool corner_voxel(const int32_t low[3], const int32_t high[3], int corner,
                         int32_t voxel[3]) {
  for (int a = 0; a < 3; ++a) {
    const bool up = corner >> a & 1;
    if (up && low[a] == high[a]) return false;
    voxel[a] = up ? high[a] : low[a];
  }
  return true;
}

int tsdf_sample(const tsdf_view *view, const tsdf_ray *ray, int s, tsdf_hit hits[TSDF_HITS_MAX]) {
  int32_t low[3], high[3], voxel[3], plain[3];
  bool split = false;
  for (int a = 0; a < 3; ++a) {
    axis_range(view, ray, s, a, &low[a], &high[a]);
    split |= low[a] != high[a];
  }
  int count = 0;
  for (int corner = 0; corner < 8; ++corner) {
    if (!corner_voxel(low, high, corner, voxel)) continue;
    double slack;
    const double distance = tsdf_distance(view, ray, voxel, &slack) + (double)view->trunc;
    if (distance < -slack) continue;
    hits[count++] = (tsdf_hit){.voxel = {voxel[0], voxel[1], voxel[2]},
                               .optional = split || distance < slack,
                               .nominal = true};
  }
  if (count == 0 || !hits[0].optional) return count;
  const bool kept = nominal_sample(view, ray, s, plain);
  for (int h = 0; h < count; ++h) {
    const int32_t *at = hits[h].voxel;
    hits[h].nominal = kept && at[0] == plain[0] && at[1] == plain[1] && at[2] == plain[2];
  }
  return count;
}
