/* Patterns of wrong elements. One walk over the marked bits, a word of 64 at a time; coordinates go
 * along like an odometer, since a division for each bit would be most of the work. */
#include "pattern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t gcd(size_t a, size_t b) {
  while (b) {
    size_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

/* What the walk carries along. */
typedef struct walk {
  pg_pattern *out;
  int64_t at[PG_DIM_MAX];     /* coordinates of the last marked element */
  size_t *counts[PG_DIM_MAX]; /* marked elements by coordinate */
  size_t index;               /* flat index that belongs to `at` */
} walk;

/* Move the coordinates on to flat index `index`. */
static void advance(walk *w, size_t index) {
  const pg_pattern *p = w->out;
  size_t carry = index - w->index;
  w->index = index;
  for (int d = p->ndim - 1; carry > 0; d--) {
    size_t sum = (size_t)w->at[d] + carry, extent = (size_t)p->axis[d].extent;
    carry = sum < extent ? 0 : sum / extent;
    w->at[d] = (int64_t)(carry ? sum % extent : sum);
  }
}

static void note_diagonal(walk *w) {
  pg_pattern *p = w->out;
  if (p->ndim < 2) return;
  int64_t row = w->at[p->ndim - 2], column = w->at[p->ndim - 1];
  p->diagonal += row == column;
  p->above += column > row;
  p->below += column < row;
}

static void note(walk *w, size_t index) {
  pg_pattern *p = w->out;
  if (p->bad++ == 0) p->first = index;
  if (p->stride != 1) p->stride = gcd(index - p->first, p->stride);
  p->last = index;
  p->residues[index % PG_RESIDUES]++;
  if (p->ndim < 2) return;
  advance(w, index);
  for (int d = 0; d < p->ndim; d++) w->counts[d][w->at[d]]++;
  note_diagonal(w);
}

static void visit(walk *w, const uint64_t *marks, size_t count) {
  for (size_t word = 0; word < (count + 63) / 64; word++)
    for (uint64_t bits = marks[word]; bits; bits &= bits - 1)
      note(w, word * 64 + (size_t)__builtin_ctzll(bits));
}

/* How many of 0 ... count - 1 have this residue. */
static size_t with_residue(size_t count, size_t modulus, size_t residue) {
  return residue < count ? (count - 1 - residue) / modulus + 1 : 0;
}

/* Whether exactly the elements with touched residues are marked; the residues are folded into
 * `folded`. */
static bool is_cyclic(const pg_pattern *p, size_t count, size_t modulus, size_t *folded) {
  size_t whole = 0, touched = 0;
  memset(folded, 0, PG_RESIDUES * sizeof *folded);
  for (size_t i = 0; i < PG_RESIDUES; i++) folded[i % modulus] += p->residues[i];
  for (size_t i = 0; i < modulus; i++)
    if (folded[i]) whole += with_residue(count, modulus, i), touched++;
  return whole == p->bad && touched < modulus;
}

static void find_modulus(pg_pattern *p, size_t count) {
  size_t folded[PG_RESIDUES];
  for (size_t m = 2; m <= PG_RESIDUES && m <= count / 2; m *= 2)
    if (is_cyclic(p, count, m, folded)) {
      p->modulus = m;
      memcpy(p->residues, folded, sizeof folded);
      return;
    }
}

static void find_axis(pg_axis *axis, const size_t *counts) {
  for (int64_t i = 0; i < axis->extent; i++) {
    if (!counts[i]) continue;
    if (axis->touched++ == 0) axis->first = i;
    axis->stride = (int64_t)gcd((size_t)(i - axis->first), (size_t)axis->stride);
    axis->last = i;
  }
}

static void finish(walk *w, size_t count) {
  pg_pattern *p = w->out;
  find_modulus(p, count);
  if (p->ndim < 2) return;
  size_t combinations = 1;
  for (int d = 0; d < p->ndim; d++) {
    find_axis(&p->axis[d], w->counts[d]);
    combinations *= (size_t)p->axis[d].touched;
  }
  p->box = p->bad > 0 && combinations == p->bad;
}

pg_code pg_find_pattern(const uint64_t *marks, int ndim, const int64_t *shape, pg_pattern *out,
                        pg_error *error) {
  *out = (pg_pattern){.ndim = ndim};
  walk w = {.out = out};
  size_t count = 1, total = 0;
  for (int d = 0; d < ndim; d++) {
    out->axis[d].extent = shape[d];
    count *= (size_t)shape[d], total += (size_t)shape[d];
  }
  size_t *counts = calloc(ndim < 2 ? 1 : total + 1, sizeof *counts);
  if (!counts) return pg_fail(error, PG_MEMORY, "no memory for a pattern of %zu counts", total);
  size_t *next = counts;
  for (int d = 0; ndim > 1 && d < ndim; d++) w.counts[d] = next, next += shape[d];
  visit(&w, marks, count);
  finish(&w, count);
  free(counts);
  return PG_OK;
}

/* ---- values ---- */

static void widen(double *min, double *max, double value, bool first) {
  if (first || value < *min) *min = value;
  if (first || value > *max) *max = value;
}

static void relate(pg_relation *r, double want, double got) {
  r->nans += isnan(got) != 0;
  if (!isfinite(want) || !isfinite(got)) return;
  bool first = r->pairs++ == 0;
  widen(&r->difference_min, &r->difference_max, got - want, first);
  widen(&r->got_min, &r->got_max, got, first);
  r->zeros += got == 0 && want != 0;
  if (want != 0) widen(&r->ratio_min, &r->ratio_max, got / want, r->ratios++ == 0);
}

static double value_at(const pg_array *array, size_t index) {
  return pg_load_f64(array->dtype.scalar, (const char *)array->data + index * array->dtype.size);
}

static void relate_word(pg_relation *r, const pg_array *want, const pg_array *got, size_t word,
                        uint64_t bits) {
  for (; bits; bits &= bits - 1) {
    size_t index = word * 64 + (size_t)__builtin_ctzll(bits);
    relate(r, value_at(want, index), value_at(got, index));
  }
}

pg_code pg_find_relation(const pg_array *want, const pg_array *got, const uint64_t *marks,
                         pg_relation *out, pg_error *error) {
  *out = (pg_relation){0};
  if (want->dtype.scalar == PG_STRUCT || got->dtype.scalar == PG_STRUCT)
    return pg_fail(error, PG_INVALID, "no relation between structs");
  if (want->count != got->count)
    return pg_fail(error, PG_INVALID, "expected %zu elements, got %zu", want->count, got->count);
  size_t words = (got->count + 63) / 64;
  for (size_t word = 0; word < words; word++) {
    size_t left = got->count - word * 64;
    uint64_t all = left < 64 ? (UINT64_C(1) << left) - 1 : ~UINT64_C(0);
    relate_word(out, want, got, word, marks ? marks[word] & all : all);
  }
  return PG_OK;
}
