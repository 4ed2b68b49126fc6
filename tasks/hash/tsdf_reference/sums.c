/* Checks of the voxels: each of the five sums lies within its interval, which terms that a weight
 * cap kept out widen further; blocks that nobody owns are as they were. */
#include "verify.h"

#include "fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[TSDF_SUMS] = {"tsdf", "weight", "r", "g", "b"};

/* A cap keeps terms out once the weight is seen at or above it (a stale look sees less, so none is
 * kept out before). The weight tells how much was kept out; the other sums lack that much times
 * something between their least and their largest term. Whether some may have been kept out. */
static bool widen_for_cap(tsdf_bound *bound, const tsdf_extremes *terms, double cap,
                          double weight) {
  const double out_low = fmax(0, bound->low[1] - weight);
  const double out_high = fmax(0, bound->high[1] - weight);
  if (bound->high[1] < cap) return false;
  bound->low[1] = fmin(bound->low[1], cap);
  for (int a = 0; a < TSDF_SUMS; ++a) {
    if (a == 1) continue;
    bound->low[a] -= fmax(out_low * terms->most[a], out_high * terms->most[a]);
    bound->high[a] -= fmin(out_low * terms->least[a], out_high * terms->least[a]);
  }
  return true;
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
static void note_tightness(tally *t, double low, double high, double got) {
  const double half = 0.5 * (high - low), middle = 0.5 * (high + low);
  if (half > 0) t->facts.tightness = fmax(t->facts.tightness, fabs(got - middle) / half);
}

static void judge(tally *t, int array, size_t voxel, const tsdf_bound *bound, bool capped,
                  double got) {
  const double low = bound->low[array], high = bound->high[array];
  if (got >= low && got <= high) {
    if (bound->optional == 0 && !capped) note_tightness(t, low, high, got);
    return;
  }
  bad_voxel *bad = &t->bad[array];
  if (bad->count++ == 0)
    *bad = (bad_voxel){.count = 1,
                       .voxel = voxel,
                       .got = got,
                       .low = low,
                       .high = high,
                       .additions = bound->additions};
}

static void judge_block(tally *t, const tsdf_model *model, const tsdf_volume *volume,
                        uint32_t block, int32_t place, double cap) {
  static const tsdf_bound nothing = {.additions = 0};
  tsdf_bounds_reader reader = tsdf_bounds_of(model, block);
  for (uint32_t local = 0; local < TSDF_BLOCK_VOXELS; ++local) {
    const size_t voxel = (size_t)block * TSDF_BLOCK_VOXELS + local;
    const size_t at = (size_t)place * TSDF_BLOCK_VOXELS + local;
    const tsdf_extremes *terms = NULL;
    const tsdf_bound *bound = tsdf_bounds_next(&reader, local, cap > 0 ? &terms : NULL);
    const double weight = volume->sums[1][at];
    if (!bound) bound = &nothing;
    t->facts.voxels += bound->additions > 0;
    t->facts.additions += bound->additions;
    t->optional_voxels += bound->optional > 0;
    t->offered += bound->high[1];
    t->kept += weight;
    tsdf_bound widened;
    bool capped = false;
    if (terms) {
      widened = *bound;
      capped = widen_for_cap(&widened, terms, cap, weight);
      bound = &widened;
    }
    for (int a = 0; a < TSDF_SUMS; ++a) judge(t, a, voxel, bound, capped, volume->sums[a][at]);
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
#pragma omp parallel
#endif
  {
    tally own; /* of a thread */
    memset(&own, 0, sizeof own);
#ifdef _OPENMP
#pragma omp for schedule(dynamic, 16)
#endif
    for (uint32_t block = 0; block < model->map.count; ++block)
      if (places[block] >= 0) judge_block(&own, model, volume, block, places[block], cap);
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

/* The first of a block's floats that is not zero, TSDF_BLOCK_VOXELS when all are. Most blocks of
 * most pools are zero: looking at all without a branch is several times as fast. */
static int first_nonzero(const float *from) {
  int any = 0, i = 0;
  for (int k = 0; k < TSDF_BLOCK_VOXELS; ++k) any |= from[k] != 0;
  if (!any) return TSDF_BLOCK_VOXELS;
  while (from[i] == 0) ++i;
  return i;
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
      if (volume->touched[a] && !volume->touched[a][place]) continue;
      const float *from = &volume->sums[a][(size_t)place * TSDF_BLOCK_VOXELS];
      const int i = first_nonzero(from);
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
