/* Morton order by sorting codes; shuffling by Fisher and Yates. */
#include "order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The low 21 bits of a number, two zeros before each. */
static uint64_t spread(uint64_t bits) {
  bits &= 0x1fffff;
  bits = (bits | bits << 32) & 0x001f00000000ffff;
  bits = (bits | bits << 16) & 0x001f0000ff0000ff;
  bits = (bits | bits << 8) & 0x100f00f00f00f00f;
  bits = (bits | bits << 4) & 0x10c30c30c30c30c3;
  return (bits | bits << 2) & 0x1249249249249249;
}

static uint64_t morton(const float *point, double voxel) {
  uint64_t code = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const int64_t at = (int64_t)floor(point[axis] / voxel) + (1 << 20);
    code |= spread((uint64_t)at) << axis;
  }
  return code;
}

/* By code, then by number: the order does not depend on the library's sort. */
static int compare(const void *a, const void *b) {
  const uint64_t *x = a, *y = b;
  if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
  return x[1] < y[1] ? -1 : x[1] > y[1];
}

void tsdf_order_morton(const float *points, uint32_t n, double voxel, uint64_t (*keys)[2],
                       float *moved) {
  for (uint32_t i = 0; i < n; ++i) {
    keys[i][0] = morton(points + 3 * (size_t)i, voxel);
    keys[i][1] = i;
  }
  qsort(keys, n, sizeof *keys, compare);
  for (uint32_t i = 0; i < n; ++i)
    memcpy(moved + 3 * (size_t)i, points + 3 * keys[i][1], 3 * sizeof *points);
}

/* SplitMix64: the next of a sequence of 64 random bits. */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

void tsdf_order_shuffled(const float *points, uint32_t n, uint64_t seed, float *moved) {
  memcpy(moved, points, 3 * (size_t)n * sizeof *moved);
  for (uint32_t i = n; i > 1; --i) {
    float *last = moved + 3 * (size_t)(i - 1);
    float *other = moved + 3 * (size_t)(next_random(&seed) % i), kept[3];
    memcpy(kept, last, sizeof kept);
    memmove(last, other, sizeof kept); /* may be the same */
    memcpy(other, kept, sizeof kept);
  }
}
