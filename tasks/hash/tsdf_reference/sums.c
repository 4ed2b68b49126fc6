/* Checks of the voxels: each of the five sums lies within an interval around its binary64 value.
 * What widens an interval: the rounding of each term, that of adding n terms in any order, samples
 * that may fall either way, and terms that a weight cap kept out. */
#include "verify.h"

#include "fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[TSDF_SUMS] = {"tsdf", "weight", "r", "g", "b"};

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

typedef struct expected {
  total sums[TSDF_SUMS];
  uint32_t count, optional;
  bool capped; /* some terms may have been kept out */
} expected;

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

static expected expect(const tsdf_model *model, uint32_t block, uint32_t local) {
  const size_t v = (size_t)block * TSDF_BLOCK_VOXELS + local;
  const int32_t *at = model->blocks[block].at;
  const int32_t voxel[3] = {at[0] * 8 + (int32_t)(local & 7), at[1] * 8 + (int32_t)(local >> 3 & 7),
                            at[2] * 8 + (int32_t)(local >> 6)};
  expected e = {.count = model->first[v + 1] - model->first[v]};
  for (int a = 0; a < TSDF_SUMS; ++a)
    e.sums[a] = (total){.quantum = INFINITY, .least = INFINITY, .most = -INFINITY};
  for (uint32_t r = model->first[v]; r < model->first[v + 1]; ++r) {
    const uint32_t record = model->records[r];
    const terms t = terms_of(&model->in, record >> 1, voxel);
    e.optional += record & 1;
    for (int a = 0; a < TSDF_SUMS; ++a)
      add_term(&e.sums[a], t.value[a], t.slack[a], t.value[1], record & 1);
  }
  /* n terms in any order: at most n - 1 roundings of a partial sum (Higham, Accuracy and Stability
   * of Numerical Algorithms, 4.2). None where all partial sums are multiples of a quantum that fit
   * 24 bits. */
  for (int a = 0; a < TSDF_SUMS; ++a) {
    total *sum = &e.sums[a];
    if (e.count < 2 || sum->size <= 0x1p24 * sum->quantum) continue;
    const double n = e.count - 1, gamma = n * TSDF_EPS / (1 - n * TSDF_EPS);
    sum->low -= gamma * sum->size;
    sum->high += gamma * sum->size;
  }
  return e;
}

/* A cap keeps terms out once the weight is seen at or above it (a stale look sees less, so none is
 * kept out before). The weight tells how much was kept out; the other sums lack that much times
 * something between their least and their largest term. */
static void widen_for_cap(expected *e, double cap, double weight) {
  total *w = &e->sums[1];
  const double out_low = fmax(0, w->low - weight), out_high = fmax(0, w->high - weight);
  if (w->high < cap) return;
  e->capped = true;
  w->low = fmin(w->low, cap);
  for (int a = 0; a < TSDF_SUMS; ++a) {
    total *sum = &e->sums[a];
    if (a == 1) continue;
    sum->low -= fmax(out_low * sum->most, out_high * sum->most);
    sum->high -= fmin(out_low * sum->least, out_high * sum->least);
  }
}

typedef struct bad_voxel {
  uint64_t count;
  size_t voxel; /* the lowest, in the model's numbering */
  double got, low, high;
  uint32_t additions;
} bad_voxel;

typedef struct tally {
  bad_voxel bad[TSDF_SUMS];
  tsdf_sum_facts facts;
  double offered, kept;
  uint64_t optional_voxels;
} tally;

/* How much of an interval is used, where nothing but rounding widens it. */
static void note_tightness(tally *t, const total *sum, double got) {
  const double half = 0.5 * (sum->high - sum->low), middle = 0.5 * (sum->high + sum->low);
  if (half > 0) t->facts.tightness = fmax(t->facts.tightness, fabs(got - middle) / half);
}

static void judge(tally *t, int array, size_t voxel, const expected *e, double got) {
  const total *sum = &e->sums[array];
  if (got >= sum->low && got <= sum->high) {
    if (e->optional == 0 && !e->capped) note_tightness(t, sum, got);
    return;
  }
  bad_voxel *bad = &t->bad[array];
  if (bad->count++ == 0)
    *bad = (bad_voxel){.count = 1,
                       .voxel = voxel,
                       .got = got,
                       .low = sum->low,
                       .high = sum->high,
                       .additions = e->count};
}

static void judge_block(tally *t, const tsdf_model *model, const tsdf_volume *volume,
                        uint32_t block, int32_t place, double cap) {
  for (uint32_t local = 0; local < TSDF_BLOCK_VOXELS; ++local) {
    const size_t voxel = (size_t)block * TSDF_BLOCK_VOXELS + local;
    const size_t at = (size_t)place * TSDF_BLOCK_VOXELS + local;
    expected e = expect(model, block, local);
    const double weight = volume->sums[1][at];
    t->facts.voxels += e.count > 0;
    t->facts.additions += e.count;
    t->optional_voxels += e.optional > 0;
    t->offered += e.sums[1].high;
    t->kept += weight;
    if (cap > 0 && e.count > 0) widen_for_cap(&e, cap, weight);
    for (int a = 0; a < TSDF_SUMS; ++a) judge(t, a, voxel, &e, volume->sums[a][at]);
  }
}

static void merge(tally *into, const tally *from) {
  for (int a = 0; a < TSDF_SUMS; ++a) {
    const uint64_t count = into->bad[a].count + from->bad[a].count;
    if (from->bad[a].count && (!into->bad[a].count || from->bad[a].voxel < into->bad[a].voxel))
      into->bad[a] = from->bad[a];
    into->bad[a].count = count;
  }
  into->facts.voxels += from->facts.voxels;
  into->facts.additions += from->facts.additions;
  into->facts.tightness = fmax(into->facts.tightness, from->facts.tightness);
  into->offered += from->offered;
  into->kept += from->kept;
  into->optional_voxels += from->optional_voxels;
}

static void judge_blocks(tally *all, const tsdf_model *model, const tsdf_volume *volume,
                         const int32_t *places, double cap) {
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 16)
#endif
  for (uint32_t block = 0; block < model->map.count; ++block) {
    if (places[block] < 0) continue;
    tally own;
    memset(&own, 0, sizeof own);
    judge_block(&own, model, volume, block, places[block], cap);
#ifdef _OPENMP
#pragma omp critical
#endif
    merge(all, &own);
  }
}

static void report_array(tsdf_report *report, const tsdf_model *model, const tally *t, int array) {
  static const char *const names[TSDF_SUMS] = {"sum of tsdf", "sum of weight", "sum of r",
                                               "sum of g", "sum of b"};
  const bad_voxel *bad = &t->bad[array];
  if (bad->count == 0) {
    tsdf_report_add(report, names[array], true, "within the bound in every voxel");
    return;
  }
  const int32_t *at = model->blocks[bad->voxel / TSDF_BLOCK_VOXELS].at;
  const int local = (int)(bad->voxel % TSDF_BLOCK_VOXELS);
  char more[48] = "";
  if (bad->count > 1)
    snprintf(more, sizeof more, "; and %llu voxels more", (unsigned long long)(bad->count - 1));
  tsdf_report_add(report, names[array], false,
                  "voxel (%d, %d, %d): %s is %.9g, expected %.9g to %.9g after %u additions%s",
                  at[0] * 8 + (local & 7), at[1] * 8 + (local >> 3 & 7), at[2] * 8 + (local >> 6),
                  NAMES[array], bad->got, bad->low, bad->high, bad->additions, more);
}

/* Voxels of places that no key owns must be as they were: zero. Returns the first that is not, or
 * -1. */
static int64_t find_stray(const tsdf_volume *volume, const bool *owned, int *array) {
  int64_t stray = INT64_MAX;
  int found = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(dynamic, 64)
#endif
  for (uint32_t place = 0; place < volume->capacity; ++place) {
    if (owned[place]) continue;
    for (int a = 0; a < TSDF_SUMS; ++a) {
      const float *from = &volume->sums[a][(size_t)place * TSDF_BLOCK_VOXELS];
      int i = 0;
      while (i < TSDF_BLOCK_VOXELS && from[i] == 0) ++i;
      if (i == TSDF_BLOCK_VOXELS) continue;
#ifdef _OPENMP
#pragma omp critical
#endif
      if ((int64_t)place * TSDF_BLOCK_VOXELS + i < stray) {
        stray = (int64_t)place * TSDF_BLOCK_VOXELS + i;
        found = a;
      }
    }
  }
  *array = found;
  return stray == INT64_MAX ? -1 : stray;
}

static void report_stray(tsdf_report *report, const tsdf_volume *volume, const bool *owned) {
  int array;
  const int64_t at = find_stray(volume, owned, &array);
  if (at < 0)
    tsdf_report_add(report, "unused blocks", true, "untouched");
  else
    tsdf_report_add(report, "unused blocks", false,
                    "%s[%lld] is %.9g, in block %lld of the pool that no key owns", NAMES[array],
                    (long long)at, (double)volume->sums[array][at],
                    (long long)at / TSDF_BLOCK_VOXELS);
}

pg_code tsdf_verify_sums(const tsdf_model *model, const tsdf_volume *volume, const int32_t *places,
                         double weight_cap, tsdf_report *report, tsdf_sum_facts *facts,
                         pg_error *error) {
  bool *owned = calloc((size_t)volume->capacity + 1, sizeof *owned);
  if (!owned) return tsdf_fail(error, PG_MEMORY, "the reference ran out of memory");
  for (uint32_t b = 0; b < model->map.count; ++b)
    if (places[b] >= 0) owned[places[b]] = true;
  tally all;
  memset(&all, 0, sizeof all);
  judge_blocks(&all, model, volume, places, weight_cap);
  for (int a = 0; a < TSDF_SUMS; ++a) report_array(report, model, &all, a);
  report_stray(report, volume, owned);
  *facts = all.facts;
  facts->rejected = weight_cap > 0 && all.offered > 0 ? fmax(0, 1 - all.kept / all.offered) : 0;
  free(owned);
  return PG_OK;
}
