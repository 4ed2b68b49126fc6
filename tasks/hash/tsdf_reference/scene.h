/* Synthetic scenes: points in binary64, rounded to binary32. The caller owns the points. */
#ifndef TSDF_SCENE_H
#define TSDF_SCENE_H

#include <stdint.h>

/* Point (i, j) of n_theta x n_phi: theta = pi (i + 0.5) / n_theta, phi = 2 pi j / n_phi; x, y, z
 * each. */
void tsdf_sphere(float *points, const double centre[3], double radius, int64_t n_theta,
                 int64_t n_phi);

/* rows x cols points, evenly over [-half, half] in x and y with both ends, at height z; a
 * single row or column is in the middle. */
void tsdf_plane(float *points, double z, double half, int64_t rows, int64_t cols);

#endif
