/* Rows as 64-bit words: one scalar gives its own bits (mixed by a bijection, so that nothing is
 * lost), several are chained by a keyed hash. Words are summed to recognise equal multisets and
 * sorted by radix to tell different ones apart. */
#include "rows.h"
#include "parallel.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 512, PART = 128 * CHUNK, PARTS_MOST = 64 };
/* The first pass of sorting makes buckets by the highest bits; they fit the caches and are sorted
 * by the rest, 55 bits in 5 passes. */
enum { BUCKET_BITS = 9, BUCKETS = 1 << BUCKET_BITS };
enum { RADIX_BITS = 11, RADIX = 1 << RADIX_BITS, PASSES = 5, SMALL = 48 };

/* ---- words ---- */

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words. */
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* Equal values have equal bits. */
static uint64_t bits_of(double value) {
  uint64_t bits;
  if (value == 0) return 0;
  if (isnan(value)) return UINT64_C(0x7ff8) << 48;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint64_t chain(uint64_t word, uint64_t bits) {
  return mix(word ^ bits) + UINT64_C(0x9e3779b97f4a7c15);
}

static void chain_scalars(uint64_t *words, pg_scalar scalar, const void *at, size_t count) {
  if (pg_scalar_class(scalar) == 'f') {
    double values[CHUNK];
    pg_load_f64s(scalar, at, count, values);
    for (size_t i = 0; i < count; i++) words[i] = chain(words[i], bits_of(values[i]));
  } else {
    int64_t values[CHUNK];
    pg_load_i64s(scalar, at, count, values);
    for (size_t i = 0; i < count; i++) words[i] = chain(words[i], (uint64_t)values[i]);
  }
}

static void chain_structs(uint64_t *words, const pg_dtype *dtype, const char *at, size_t count) {
  for (size_t i = 0; i < count; i++)
    for (uint32_t f = 0; f < dtype->field_count; f++) {
      const pg_field *field = &dtype->fields[f];
      const uint32_t size = pg_scalar_size(field->scalar);
      for (uint32_t k = 0; k < field->count; k++)
        chain_scalars(&words[i], field->scalar,
                      at + i * dtype->size + field->offset + (size_t)k * size, 1);
    }
}

/* The words of at most CHUNK rows. */
static void words_of(const pg_rows *rows, size_t first, size_t count, uint64_t key,
                     uint64_t *words) {
  for (size_t i = 0; i < count; i++) words[i] = mix(key);
  for (int c = 0; c < rows->columns; c++) {
    const pg_dtype *dtype = &rows->column[c]->dtype;
    const char *at = (const char *)rows->column[c]->data + first * dtype->size;
    if (dtype->scalar == PG_STRUCT)
      chain_structs(words, dtype, at, count);
    else
      chain_scalars(words, dtype->scalar, at, count);
  }
}

/* Words by bucket, their highest bits. Sums are commutative: the order of rows does not matter. */
typedef struct tally {
  size_t count[BUCKETS];
  uint64_t sum[BUCKETS], other;
} tally;

typedef struct making {
  const pg_rows *rows;
  uint64_t key;
  size_t parts;
  tally *tally; /* one for each part */
} making;

static size_t bucket_of(uint64_t word) {
  return word >> (64 - BUCKET_BITS);
}

static void add_words(tally *t, const uint64_t *words, size_t count, uint64_t key) {
  for (size_t i = 0; i < count; i++) {
    size_t bucket = bucket_of(words[i]);
    t->count[bucket]++;
    t->sum[bucket] += mix(words[i] ^ key);
    t->other += mix(words[i] + ~key);
  }
}

static void make_part(void *context, size_t part) {
  making *m = context;
  size_t all = m->rows->count, size = all / m->parts + 1;
  size_t first = part * size < all ? part * size : all,
         end = all - first < size ? all : first + size;
  uint64_t words[CHUNK];
  for (; first < end; first += CHUNK) {
    size_t count = end - first < CHUNK ? end - first : CHUNK;
    words_of(m->rows, first, count, m->key, words);
    add_words(&m->tally[part], words, count, m->key);
  }
}

/* The tally of all rows. */
static bool make_tally(const pg_rows *rows, uint64_t key, tally *out) {
  making m = {.rows = rows, .key = key, .parts = rows->count / PART + 1};
  if (m.parts > PARTS_MOST) m.parts = PARTS_MOST;
  m.tally = calloc(m.parts, sizeof *m.tally);
  if (!m.tally) return false;
  pg_parallel(m.parts, make_part, &m);
  *out = (tally){0};
  for (size_t part = 0; part < m.parts; part++) {
    for (size_t b = 0; b < BUCKETS; b++) {
      out->count[b] += m.tally[part].count[b];
      out->sum[b] += m.tally[part].sum[b];
    }
    out->other += m.tally[part].other;
  }
  free(m.tally);
  return true;
}

/* ---- sorting ---- */

typedef struct sorting {
  uint64_t *words, *spare; /* words is sorted in the end */
  size_t count;
  size_t start[BUCKETS + 1];
} sorting;

static void insertion_sort(const uint64_t *from, uint64_t *to, size_t count) {
  for (size_t i = 0; i < count; i++) {
    size_t at = i;
    for (; at > 0 && to[at - 1] > from[i]; at--) to[at] = to[at - 1];
    to[at] = from[i];
  }
}

/* One digit, stable. */
static void radix_pass(const uint64_t *from, uint64_t *to, size_t count, int shift) {
  size_t place[RADIX] = {0}, sum = 0;
  for (size_t i = 0; i < count; i++) place[from[i] >> shift & (RADIX - 1)]++;
  for (size_t d = 0; d < RADIX; d++) {
    size_t here = place[d];
    place[d] = sum;
    sum += here;
  }
  for (size_t i = 0; i < count; i++) to[place[from[i] >> shift & (RADIX - 1)]++] = from[i];
}

/* From spare, where the buckets are, to words: an odd number of passes. */
static void sort_bucket(void *context, size_t bucket) {
  sorting *s = context;
  size_t first = s->start[bucket], count = s->start[bucket + 1] - first;
  uint64_t *from = s->spare + first, *to = s->words + first;
  if (count <= SMALL) {
    insertion_sort(from, to, count);
    return;
  }
  for (int pass = 0; pass < PASSES; pass++) {
    radix_pass(from, to, count, pass * RADIX_BITS);
    uint64_t *swap = from;
    from = to, to = swap;
  }
}

/* The rows' words, those of the chosen buckets only, to their buckets in spare. */
static void fill_buckets(sorting *s, const pg_rows *rows, uint64_t key, const bool *chosen) {
  size_t place[BUCKETS];
  uint64_t words[CHUNK];
  memcpy(place, s->start, sizeof place);
  for (size_t first = 0; first < rows->count; first += CHUNK) {
    size_t count = rows->count - first < CHUNK ? rows->count - first : CHUNK;
    words_of(rows, first, count, key, words);
    for (size_t i = 0; i < count; i++)
      if (chosen[bucket_of(words[i])]) s->spare[place[bucket_of(words[i])]++] = words[i];
  }
}

static bool sorting_new(sorting *s, const tally *t, const bool *chosen) {
  *s = (sorting){0};
  for (size_t b = 0; b < BUCKETS; b++) {
    s->start[b] = s->count;
    s->count += chosen[b] ? t->count[b] : 0;
  }
  s->start[BUCKETS] = s->count;
  s->words = malloc((s->count + 1) * sizeof *s->words);
  s->spare = malloc((s->count + 1) * sizeof *s->spare);
  return s->words && s->spare;
}

static void sorting_free(sorting *s) {
  free(s->words);
  free(s->spare);
}

static void sort_rows(sorting *s, const pg_rows *rows, uint64_t key, const bool *chosen) {
  fill_buckets(s, rows, key, chosen);
  if (s->count >= PART)
    pg_parallel(BUCKETS, sort_bucket, s);
  else /* not worth a thread */
    for (size_t b = 0; b < BUCKETS; b++) sort_bucket(s, b);
}

/* ---- comparison ---- */

static bool fits(const pg_array *a, const pg_array *b) {
  if (a->dtype.scalar == PG_STRUCT || b->dtype.scalar == PG_STRUCT)
    return pg_dtype_equal(&a->dtype, &b->dtype);
  return (pg_scalar_class(a->dtype.scalar) == 'f') == (pg_scalar_class(b->dtype.scalar) == 'f');
}

static pg_code check_rows(const pg_rows *rows, pg_error *error) {
  for (int c = 0; c < rows->columns; c++)
    if (rows->column[c]->count < rows->count)
      return pg_fail(error, PG_INVALID, "%zu rows of a column with %zu elements", rows->count,
                     rows->column[c]->count);
  return PG_OK;
}

static pg_code check_pair(const pg_rows *want, const pg_rows *got, pg_error *error) {
  pg_code code = check_rows(want, error);
  if (!code) code = check_rows(got, error);
  if (code) return code;
  if (want->columns != got->columns)
    return pg_fail(error, PG_INVALID, "expected %d columns, got %d", want->columns, got->columns);
  for (int c = 0; c < got->columns; c++)
    if (!fits(want->column[c], got->column[c])) {
      pg_fail(error, PG_INVALID, "column %d: %s and %s do not compare", c,
              want->column[c]->dtype.name, got->column[c]->dtype.name);
      return pg_hint(error, "integers with integers, floats with floats, structs with their own");
    }
  return PG_OK;
}

static size_t run_length(const sorting *s, size_t at) {
  size_t end = at;
  while (end < s->count && s->words[end] == s->words[at]) end++;
  return end - at;
}

typedef struct merge {
  pg_rows_difference *out;
  bool set;
  uint64_t missing_word, extra_word; /* of the first difference of each kind, in sorted order */
} merge;

/* One word occurs `want` times in one and `got` times in the other. */
static void merge_word(merge *m, uint64_t word, size_t want, size_t got) {
  if (m->set) want = want > 0, got = got > 0;
  if (want > got) {
    if (m->out->missing == 0) m->missing_word = word;
    m->out->missing += want - got;
  } else if (got > want) {
    if (m->out->extra == 0) m->extra_word = word;
    m->out->extra += got - want;
  }
}

static void merge_sorted(merge *m, const sorting *want, const sorting *got) {
  size_t w = 0, g = 0;
  while (w < want->count || g < got->count) {
    bool has_w = w < want->count, has_g = g < got->count;
    uint64_t word =
        !has_g || (has_w && want->words[w] < got->words[g]) ? want->words[w] : got->words[g];
    size_t in_want = has_w && want->words[w] == word ? run_length(want, w) : 0;
    size_t in_got = has_g && got->words[g] == word ? run_length(got, g) : 0;
    merge_word(m, word, in_want, in_got);
    w += in_want, g += in_got;
  }
}

/* The first row at or behind `from` with this word; count when there is none. */
static size_t find_word(const pg_rows *rows, size_t from, uint64_t key, uint64_t word) {
  uint64_t words[CHUNK];
  for (size_t first = from; first < rows->count; first += CHUNK) {
    size_t count = rows->count - first < CHUNK ? rows->count - first : CHUNK;
    words_of(rows, first, count, key, words);
    for (size_t i = 0; i < count; i++)
      if (words[i] == word) return first + i;
  }
  return rows->count;
}

/* Buckets whose words differ: only these are sorted. */
static bool choose_buckets(const tally *want, const tally *got, bool *chosen) {
  bool any = want->other != got->other, found = false;
  for (size_t b = 0; b < BUCKETS; b++) {
    chosen[b] = want->count[b] != got->count[b] || want->sum[b] != got->sum[b];
    found |= chosen[b];
  }
  if (any && !found) memset(chosen, true, BUCKETS * sizeof *chosen); /* sums that collide */
  return any || found;
}

static pg_code find_difference(const pg_rows *rows[2], const tally t[2], const bool *chosen,
                               bool set, uint64_t key, pg_rows_difference *out, pg_error *error) {
  merge merged = {.out = out, .set = set};
  pg_code code = PG_OK;
  sorting s[2];
  bool first = sorting_new(&s[0], &t[0], chosen), second = sorting_new(&s[1], &t[1], chosen);
  if (first && second) {
    for (int i = 0; i < 2; i++) sort_rows(&s[i], rows[i], key, chosen);
    merge_sorted(&merged, &s[0], &s[1]);
    if (out->missing) out->missing_at = find_word(rows[0], 0, key, merged.missing_word);
    if (out->extra) out->extra_at = find_word(rows[1], 0, key, merged.extra_word);
  } else {
    code = pg_fail(error, PG_MEMORY, "no memory to sort %zu rows", s[0].count + s[1].count);
  }
  sorting_free(&s[0]);
  sorting_free(&s[1]);
  return code;
}

pg_code pg_rows_compare(const pg_rows *want, const pg_rows *got, bool set, uint64_t key,
                        pg_rows_difference *out, pg_error *error) {
  *out = (pg_rows_difference){0};
  pg_code code = check_pair(want, got, error);
  if (code) return code;
  const pg_rows *rows[2] = {want, got};
  bool chosen[BUCKETS];
  tally t[2];
  if (!make_tally(want, key, &t[0]) || !make_tally(got, key, &t[1]))
    return pg_fail(error, PG_MEMORY, "no memory to compare rows");
  if (!choose_buckets(&t[0], &t[1], chosen)) return PG_OK;
  return find_difference(rows, t, chosen, set, key, out, error);
}

static size_t count_duplicates(const sorting *s, uint64_t *word) {
  size_t duplicates = 0;
  for (size_t at = 0, run; at < s->count; at += run) {
    run = run_length(s, at);
    if (run > 1 && duplicates == 0) *word = s->words[at];
    duplicates += run - 1;
  }
  return duplicates;
}

pg_code pg_rows_duplicates(const pg_rows *rows, uint64_t key, size_t *duplicates, size_t *at,
                           pg_error *error) {
  pg_code code = check_rows(rows, error);
  if (code) return code;
  tally t;
  bool all[BUCKETS];
  sorting s = {0};
  memset(all, true, sizeof all);
  if (make_tally(rows, key, &t) && sorting_new(&s, &t, all)) {
    uint64_t word = 0;
    sort_rows(&s, rows, key, all);
    *duplicates = count_duplicates(&s, &word);
    *at = *duplicates ? find_word(rows, find_word(rows, 0, key, word) + 1, key, word) : 0;
  } else {
    code = pg_fail(error, PG_MEMORY, "no memory to sort %zu rows", rows->count);
  }
  sorting_free(&s);
  return code;
}

/* ---- order ---- */

/* < 0, 0, > 0; 2 when a NaN takes part. */
static int order_of(const pg_array *array, size_t row) {
  pg_scalar scalar = array->dtype.scalar;
  const char *b = (const char *)array->data + row * array->dtype.size, *a = b - array->dtype.size;
  if (pg_scalar_class(scalar) == 'f') {
    double x = pg_load_f64(scalar, a), y = pg_load_f64(scalar, b);
    return x < y ? -1 : x > y ? 1 : x == y ? 0 : 2;
  }
  int64_t x = pg_load_i64(scalar, a), y = pg_load_i64(scalar, b);
  if (scalar == PG_U64) return (uint64_t)x < (uint64_t)y ? -1 : (uint64_t)x > (uint64_t)y;
  return x < y ? -1 : x > y;
}

static bool may_follow(const pg_rows *rows, size_t row, bool descending, bool strict) {
  for (int c = 0; c < rows->columns; c++) {
    int order = order_of(rows->column[c], row);
    if (order == 2) return false;
    if (order) return (order < 0) != descending;
  }
  return !strict;
}

/* The first of rows first + 1 ... first + count of one column that may not follow, or `none`. */
static size_t unsorted_in(const pg_array *array, size_t first, size_t count, bool descending,
                          bool strict, size_t none) {
  const char *at = (const char *)array->data + first * array->dtype.size;
  pg_scalar scalar = array->dtype.scalar;
  double f[CHUNK + 1];
  int64_t v[CHUNK + 1];
  if (pg_scalar_class(scalar) == 'f') {
    pg_load_f64s(scalar, at, count + 1, f);
    for (size_t i = 1; i <= count; i++) {
      double a = descending ? f[i] : f[i - 1], b = descending ? f[i - 1] : f[i];
      if (!(strict ? a < b : a <= b)) return first + i;
    }
    return none;
  }
  const int64_t flip = scalar == PG_U64 ? INT64_MIN : 0; /* unsigned order as signed order */
  pg_load_i64s(scalar, at, count + 1, v);
  for (size_t i = 1; i <= count; i++) {
    int64_t a = (descending ? v[i] : v[i - 1]) ^ flip, b = (descending ? v[i - 1] : v[i]) ^ flip;
    if (!(strict ? a < b : a <= b)) return first + i;
  }
  return none;
}

typedef struct ordering {
  const pg_rows *rows;
  bool descending, strict;
  atomic_size_t first;
} ordering;

/* Rows first + 1 ... first + count. */
static size_t order_chunk(const ordering *o, size_t first, size_t count) {
  const pg_rows *rows = o->rows;
  if (rows->columns == 1)
    return unsorted_in(rows->column[0], first, count, o->descending, o->strict, rows->count);
  for (size_t i = first + 1; i <= first + count; i++)
    if (!may_follow(rows, i, o->descending, o->strict)) return i;
  return rows->count;
}

static void order_part(void *context, size_t part) {
  ordering *o = context;
  size_t pairs = o->rows->count - 1, end = (part + 1) * PART < pairs ? (part + 1) * PART : pairs;
  size_t found = o->rows->count;
  for (size_t first = part * PART; first < end && found == o->rows->count; first += CHUNK)
    found = order_chunk(o, first, end - first < CHUNK ? end - first : CHUNK);
  size_t before = atomic_load(&o->first);
  while (found < before && !atomic_compare_exchange_weak(&o->first, &before, found)) continue;
}

size_t pg_rows_unsorted(const pg_rows *rows, bool descending, bool strict) {
  ordering o = {.rows = rows, .descending = descending, .strict = strict};
  atomic_store(&o.first, rows->count);
  if (rows->count > 1) pg_parallel((rows->count - 1 + PART - 1) / PART, order_part, &o);
  return atomic_load(&o.first);
}

/* ---- permutations ---- */

static bool is_integer(const pg_array *array) {
  char class = array->dtype.scalar == PG_STRUCT ? 's' : pg_scalar_class(array->dtype.scalar);
  return class == 'i' || class == 'u';
}

static uint64_t integer_at(const pg_array *array, size_t i) {
  return (uint64_t)pg_load_i64(array->dtype.scalar,
                               (const char *)array->data + i * array->dtype.size);
}

pg_code pg_check_permutation(const pg_array *array, size_t count, int64_t base, pg_permutation *out,
                             pg_error *error) {
  *out = (pg_permutation){0};
  if (!is_integer(array))
    return pg_fail(error, PG_INVALID, "a permutation is of integers, not %s", array->dtype.name);
  if (count > array->count)
    return pg_fail(error, PG_INVALID, "%zu of %zu elements", count, array->count);
  uint64_t *seen = calloc(count / 64 + 1, sizeof *seen);
  if (!seen) return pg_fail(error, PG_MEMORY, "no memory for %zu bits", count);
  for (size_t i = 0; i < count; i++) {
    uint64_t k = integer_at(array, i) - (uint64_t)base, bit = UINT64_C(1) << k % 64;
    if (k >= count) {
      if (out->outside++ == 0) out->outside_at = i;
    } else if (seen[k / 64] & bit) {
      if (out->duplicates++ == 0) out->duplicate_at = i;
    } else {
      seen[k / 64] |= bit;
    }
  }
  size_t k = 0;
  while (k < count && seen[k / 64] >> k % 64 & 1) k++;
  out->missing = (int64_t)(k + (uint64_t)base);
  free(seen);
  return PG_OK;
}

pg_code pg_gather(const pg_array *from, const pg_array *index, int64_t base, pg_array *out,
                  pg_error *error) {
  if (!is_integer(index))
    return pg_fail(error, PG_INVALID, "an index is an integer, not %s", index->dtype.name);
  if (!pg_dtype_equal(&from->dtype, &out->dtype) || out->count != index->count)
    return pg_fail(error, PG_INVALID, "cannot gather %zu x %s into %zu x %s", index->count,
                   from->dtype.name, out->count, out->dtype.name);
  size_t size = from->dtype.size;
  for (size_t i = 0; i < index->count; i++) {
    uint64_t k = integer_at(index, i) - (uint64_t)base;
    if (k >= from->count)
      return pg_fail(error, PG_RANGE, "index %zu is %lld, outside an array of %zu", i,
                     (long long)(k + (uint64_t)base), from->count);
    memcpy((char *)out->data + i * size, (const char *)from->data + k * size, size);
  }
  return PG_OK;
}
