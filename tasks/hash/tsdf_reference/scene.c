/* Formulas of the published cells. */
#include "scene.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

void tsdf_sphere(float *points, const double centre[3], double radius, int64_t n_theta,
                 int64_t n_phi) {
  for (int64_t i = 0; i < n_theta; ++i) {
    const double theta = PI * ((double)i + 0.5) / (double)n_theta;
    for (int64_t j = 0; j < n_phi; ++j) {
      const double phi = 2 * PI * (double)j / (double)n_phi;
      float *p = &points[3 * (i * n_phi + j)];
      p[0] = (float)(centre[0] + radius * sin(theta) * cos(phi));
      p[1] = (float)(centre[1] + radius * sin(theta) * sin(phi));
      p[2] = (float)(centre[2] + radius * cos(theta));
    }
  }
}

/* Place i of n, evenly from -half to half; a single one in the middle. */
static float along(double half, int64_t i, int64_t n) {
  return n < 2 ? 0 : (float)(-half + 2 * half * (double)i / (double)(n - 1));
}

void tsdf_plane(float *points, double z, double half, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) {
      float *p = &points[3 * (i * cols + j)];
      p[0] = along(half, i, rows);
      p[1] = along(half, j, cols);
      p[2] = (float)z;
    }
}
