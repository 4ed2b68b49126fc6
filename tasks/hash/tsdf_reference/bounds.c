/* What widens an interval: the rounding of each term, that of adding n terms in any order, and
 * samples that may fall either way. (What a weight cap keeps out depends on the volume: sums.c.) */
#include "bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const size_t KEPT_MOST = (size_t)1 << 30; /* bytes */

/* One term of each sum. */
typedef struct terms {
  double value[TSDF_SUMS], slack[TSDF_SUMS];
} terms;

/* The interval of one sum over a voxel's terms. */
typedef struct total {
  double low, high;   /* without the rounding of the additions */
  double size;        /* sum of the magnitudes */
  double quantum;     /* every term is a multiple of it */
  double least, most; /* of the terms per unit of weight */
} total;

static terms terms_of(const tsdf_input *in, uint32_t point, const int32_t voxel[3]) {
  const tsdf_ray ray = tsdf_ray_to(&in->view, &in->points[3 * (size_t)point]);
  const float w = in->weights[point];
  double slack;
  const double distance = tsdf_distance(&in->view, &ray, voxel, &slack);
  /* sdf / trunc: by division or by a rounded reciprocal, hence 3 roundings. */
  double t = distance / (double)in->view.trunc;
  slack = slack / (double)in->view.trunc + 3 * TSDF_EPS * fabs(t);
  if (fabs(t) - slack > 1) slack = 0; /* clamped for certain */
  t = fmin(fmax(t, -1), 1);
  terms out;
  out.value[0] = t * w;
  out.slack[0] = slack == 0 ? 0 : slack * w + 1.01 * TSDF_EPS * fabs(out.value[0]);
  out.value[1] = w;
  out.slack[1] = 0;
  for (int c = 0; c < 3; ++c) { /* one rounding, the same for every kernel */
    out.value[2 + c] = (float)in->colors[3 * (size_t)point + c] * w;
    out.slack[2 + c] = 0;
  }
  return out;
}

/* The value of the lowest set bit of a binary32 number, as binary64; infinity for 0. */
static double lowest_bit(double value) {
  const float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  const uint32_t exponent = bits >> 23 & 255;
  const uint32_t mantissa = (bits & 0x7fffff) | (exponent ? 1u << 23 : 0);
  if (mantissa == 0) return INFINITY;
  const uint64_t scale = (exponent ? exponent : 1) - 150 + (uint32_t)__builtin_ctz(mantissa);
  const uint64_t wide = (uint64_t)(uint32_t)(scale + 1023) << 52;
  double result;
  memcpy(&result, &wide, sizeof result);
  return result;
}

static void add_term(total *sum, double value, double slack, double weight, bool optional) {
  const double low = value - slack, high = value + slack;
  sum->low += optional ? fmin(low, 0) : low;
  sum->high += optional ? fmax(high, 0) : high;
  sum->size += fabs(value) + slack;
  sum->quantum = fmin(sum->quantum, slack > 0 ? 0 : lowest_bit(value));
  sum->least = fmin(sum->least, low / weight);
  sum->most = fmax(sum->most, high / weight);
}

/* n terms in any order: at most n - 1 roundings of a partial sum (Higham, Accuracy and Stability
 * of Numerical Algorithms, 4.2). None where all partial sums are multiples of a quantum that fit
 * 24 bits. */
static double rounding_of(const total *sum, uint32_t count) {
  if (count < 2 || sum->size <= 0x1p24 * sum->quantum) return 0;
  const double n = count - 1;
  return n * TSDF_EPS / (1 - n * TSDF_EPS) * sum->size;
}

static void expect(const tsdf_model *model, uint32_t block, uint32_t local, tsdf_bound *bound,
                   tsdf_extremes *extremes) {
  const size_t v = (size_t)block * TSDF_BLOCK_VOXELS + local;
  const int32_t *at = model->blocks[block].at;
  const int32_t voxel[3] = {at[0] * 8 + (int32_t)(local & 7), at[1] * 8 + (int32_t)(local >> 3 & 7),
                            at[2] * 8 + (int32_t)(local >> 6)};
  total sums[TSDF_SUMS];
  for (int a = 0; a < TSDF_SUMS; ++a)
    sums[a] = (total){.quantum = INFINITY, .least = INFINITY, .most = -INFINITY};
  *bound = (tsdf_bound){.additions = model->first[v + 1] - model->first[v]};
  for (uint32_t r = model->first[v]; r < model->first[v + 1]; ++r) {
    const uint32_t record = model->records[r];
    const terms t = terms_of(&model->in, record >> 1, voxel);
    bound->optional += record & 1;
    for (int a = 0; a < TSDF_SUMS; ++a)
      add_term(&sums[a], t.value[a], t.slack[a], t.value[1], record & 1);
  }
  for (int a = 0; a < TSDF_SUMS; ++a) {
    const double rounding = rounding_of(&sums[a], bound->additions);
    bound->low[a] = sums[a].low - rounding;
    bound->high[a] = sums[a].high + rounding;
    if (extremes) extremes->least[a] = sums[a].least;
    if (extremes) extremes->most[a] = sums[a].most;
  }
}

static bool has_terms(const tsdf_model *model, uint32_t block, uint32_t local) {
  const size_t v = (size_t)block * TSDF_BLOCK_VOXELS + local;
  return model->first[v + 1] > model->first[v];
}

/* ---- keeping them ---- */

void tsdf_bounds_free(struct tsdf_bounds *bounds) {
  if (!bounds) return;
  free(bounds->before);
  free(bounds->list);
  free(bounds->extremes);
  free(bounds);
}

/* `before` of each block, and after the last: how many voxels have terms. */
static uint32_t *count_voxels(const tsdf_model *model) {
  uint32_t *before = malloc(((size_t)model->map.count + 1) * sizeof *before);
  if (!before) return NULL;
  uint32_t voxels = 0;
  for (uint32_t block = 0; block < model->map.count; ++block) {
    before[block] = voxels;
    for (uint32_t local = 0; local < TSDF_BLOCK_VOXELS; ++local)
      voxels += has_terms(model, block, local);
  }
  before[model->map.count] = voxels;
  return before;
}

static void fill(const tsdf_model *model, struct tsdf_bounds *to) {
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 16)
#endif
  for (uint32_t block = 0; block < model->map.count; ++block) {
    uint32_t at = to->before[block];
    for (uint32_t local = 0; local < TSDF_BLOCK_VOXELS; ++local)
      if (has_terms(model, block, local)) {
        expect(model, block, local, &to->list[at], to->extremes ? &to->extremes[at] : NULL);
        ++at;
      }
  }
}

void tsdf_bounds_keep(tsdf_model *model, bool capped) {
  if (model->bounds && (model->bounds->extremes || !capped)) return;
  struct tsdf_bounds *bounds = calloc(1, sizeof *bounds);
  if (!bounds) return;
  bounds->before = count_voxels(model);
  const size_t voxels = bounds->before ? bounds->before[model->map.count] : 0;
  const size_t each = sizeof *bounds->list + (capped ? sizeof *bounds->extremes : 0);
  if (bounds->before && voxels <= KEPT_MOST / each) {
    bounds->list = malloc((voxels + 1) * sizeof *bounds->list);
    if (capped) bounds->extremes = malloc((voxels + 1) * sizeof *bounds->extremes);
  }
  if (!bounds->list || (capped && !bounds->extremes)) {
    tsdf_bounds_free(bounds);
    return;
  }
  fill(model, bounds);
  tsdf_bounds_free(model->bounds);
  model->bounds = bounds;
}

/* ---- reading them ---- */

tsdf_bounds_reader tsdf_bounds_of(const tsdf_model *model, uint32_t block) {
  return (tsdf_bounds_reader){
      .model = model, .block = block, .next = model->bounds ? model->bounds->before[block] : 0};
}

const tsdf_bound *tsdf_bounds_next(tsdf_bounds_reader *reader, uint32_t local,
                                   const tsdf_extremes **extremes) {
  const struct tsdf_bounds *kept = reader->model->bounds;
  if (!has_terms(reader->model, reader->block, local)) return NULL;
  const uint32_t at = reader->next++;
  if (kept && (kept->extremes || !extremes)) {
    if (extremes) *extremes = &kept->extremes[at];
    return &kept->list[at];
  }
  expect(reader->model, reader->block, local, &reader->own, &reader->own_extremes);
  if (extremes) *extremes = &reader->own_extremes;
  return &reader->own;
}
